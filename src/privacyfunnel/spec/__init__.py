"""What can be asked for, said once: as flags, as a recipe, by the controls of the studio and as Python keywords."""
