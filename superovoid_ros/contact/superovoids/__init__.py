"""Two superovoids: Newton, certificate, search."""
