"""The toy story language of the model `mini`: a grammar, exact probabilities, tasks, and the rules of answers."""
