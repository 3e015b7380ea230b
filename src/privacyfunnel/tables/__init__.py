"""Tables: how columns become finite values, how tables are read, counted, sanitised and written."""
