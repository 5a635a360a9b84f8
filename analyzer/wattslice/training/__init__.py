"""Training and judging power models: `wattslice train`, `wattslice calibrate` and `wattslice evaluate`.

`tables` finds measured runs and our features of them, `launch_rows` computes features of a launch, `examples`
joins both. `training` learns, cross-validates and chooses, `model_card` shows it; `calibration` moves the
joint model to one board. `judging` compares predictions with measurements, `evaluation` runs the protocols.
"""
