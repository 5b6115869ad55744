"""Other compilers' code and results beside Depute's: a module for each, that imports it."""
