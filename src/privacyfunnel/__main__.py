"""`python -m privacyfunnel` is `funnel`, also where commands are not on the path."""

from privacyfunnel.cli.main import main

main()
