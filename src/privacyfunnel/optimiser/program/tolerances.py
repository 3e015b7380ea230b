"""What float64 and solvers leave open, and what fits: numbers that mean the same wherever a search needs them."""

FLOOR = 1e-12
"""Where the slope of −v ln v is taken for v = 0, where it is infinite."""
IMPROVES = 1e-12
"""Nats: what lowers a reduced cost by less is rounding error, and prices closer than this are equal."""
GONE = 1e-13
"""Mass below this is rounding error, and an output with less is not worth a row."""
NONE = 1e-9
"""Masses below that are a solver's rounding errors."""
LEAST_CENTRE = 1e-6
"""Of the mass that a posterior has at its centre: less does not help to get rid of it."""
FEASIBLE = 1e-9
"""How far a row may be overstepped, relative to the size of its terms, before a posterior is refused."""
OVERSTEPS = 1e-8
"""What the simplex method may leave of a bound that is not met."""
BROKEN_SHARE = 1e-4
"""Relative to the terms of a row, what a part of p(x) may miss; the search stays inside of the limits by more."""
SAME_DIGITS = 10
"""Posteriors that agree to so many decimals are one: linear programs are solved no better (TOLERANCE in `lp`)."""
ROUNDINGS = 16 * 2.0**-53
"""How wrong an entry of a row may be, relative to its size: half a dozen roundings, with room."""
AT_ONCE = 4_000_000
"""Numbers held at once: some tens of megabytes."""
MEMORY = 400_000_000
"""Bytes for the open nodes of branch and bound."""
MOST_FOUND = 100
"""Improving posteriors noted in one search: each is polished by linear programs, and new prices lead to others."""
LARGE = 10_000
"""Entries of a program from which on fewer rows, steeper edges and lower sides save more time than they take."""
STEPS = 30
"""Linear programs of one descent, at most: a vertex that is not yet a local minimum is an improving posterior, too."""
FEW_STEPS = 8
"""The same where each has many descents beside it."""
REFRESH = 50
"""Programs after which a tableau is computed anew."""
LANES = 4
"""Searches that go side by side, each from where its own last one ended: threads, at most. A matter of results, so the
same everywhere."""
SHARPNESS = 0.3
"""Random posteriors to search from are Dirichlet with this parameter: below 1, some values have most of the mass, as in
a vertex."""
LOST_DIGITS = 1e-13
"""What rounding may cost a bound, relative to the prices it is made of: sums over hundreds of rows and values."""
COLUMN_DIGITS = 12
"""Rows, columns and corners that agree to so many decimals are the same: what differs is rounding error."""
OUTWARDS = 1e-9
"""A share by which bounds, sets and mixtures are moved to the safe side: what rounding may cost, with much room."""
MIXES = tuple(16.0**-k for k in range(7, -1, -1))
"""Shares of what tells nothing, tried in turn where rounding alone breaks a promise: from some units of 2⁻³² to all,
which keeps any."""
SPARED = 2.0**-32
"""Of a mixture, what a unit of a channel's entries is: limits of rows to be counted are kept further inside by it."""
