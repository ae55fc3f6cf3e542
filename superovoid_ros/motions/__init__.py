"""Motions that players replay: the grasp sweep, the bite, the sweep by the arms."""
