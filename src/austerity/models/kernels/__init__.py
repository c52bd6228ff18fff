"""Compiled terms of each family: values of a block of rows from their predictors, and derivatives."""
