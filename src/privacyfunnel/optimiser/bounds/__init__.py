"""Upper bounds from easier problems: fewer attackers, chains of attackers, fewer secrets."""
