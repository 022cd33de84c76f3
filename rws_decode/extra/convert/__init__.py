"""Write a checkpoint of a family once under the names of transformers, and tell such a converted one when it loads."""
