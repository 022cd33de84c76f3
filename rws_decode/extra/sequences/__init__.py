"""Proteins and molecules: residues and SMILES as tokens, rewards of chains and of reactions.

Needs: packages
"""
