"""The other games of the papers, one module each with its own kernel."""
