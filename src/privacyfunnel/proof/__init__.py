"""Whether a protocol keeps its promise, in integers; nothing here knows how protocols are found."""
