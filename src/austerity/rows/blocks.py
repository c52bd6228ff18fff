"""How many rows a pass takes together. Sums over them are added in order, so bits depend on these sizes."""

# Not a power of two: predictors of points lie a block apart, and at a distance of 2048 bytes they would all fall into
# the same few places of the cache. A multiple of 16, so that blocks fill vector registers and tiles.
BLOCK_ROWS = 640
SLAB_BLOCKS = 32
SLAB_ROWS = BLOCK_ROWS * SLAB_BLOCKS
USER_BLOCK_ROWS = 2048  # rows a call of a user's function
POINTS = 32  # points whose predictors of a block are in cache together
