"""The private model of a table: noisy tables of few columns, and rows drawn from them given what is released."""
