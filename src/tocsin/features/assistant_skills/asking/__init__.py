"""Having a model look at files by the instructions of a skill."""
