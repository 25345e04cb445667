"""Tools from outside: the files, the guard, servers, and turns that use them."""
