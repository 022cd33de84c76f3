"""The toy language of the shipped model `mini`: a grammar, its exact probabilities, tasks, and the rules that an answer breaks."""
