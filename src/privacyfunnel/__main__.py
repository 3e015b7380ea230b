"""`python -m privacyfunnel` is `funnel`, also where commands are not on the path."""

from privacyfunnel.entry import main

main()
