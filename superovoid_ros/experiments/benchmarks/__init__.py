"""How fast, how many, how much: measurements of the engine and of what it is compared with."""
