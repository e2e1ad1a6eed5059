"""The other games of the papers, each in a module with its own kernel."""
