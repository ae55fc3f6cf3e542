"""References and attacks that share no code with what they judge."""
