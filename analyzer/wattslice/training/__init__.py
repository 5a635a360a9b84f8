"""Training and judging power models: `wattslice train` and `wattslice evaluate`.

`tables` finds measured runs and our features of them, `campaign` computes the features of a campaign's own
sources, `examples` joins both; `training` learns, cross-validates and chooses, `model_card` and `plots` show
it; `judging` compares predictions with measurements, `counters` is the predictor from DCGM counters,
`evaluation` runs the protocols and `accuracy_page` writes them down.
"""
