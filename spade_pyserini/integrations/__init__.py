"""SpaDE in other libraries, one module for each; a module imports its library only when used."""
