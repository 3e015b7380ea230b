"""Finding the best protocol: a linear program over posteriors, solved by column generation."""
