"""The report: what a protocol promises, keeps and gives away, as a page for people."""
