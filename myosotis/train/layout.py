"""What is where in the folder of a run."""

__all__ = ["BEST", "CONFIG", "CURVE", "LAST", "METRICS", "RESULT", "TENSORBOARD"]

CONFIG = "config.yaml"
METRICS = "metrics.csv"
TENSORBOARD = "tensorboard"
LAST = "checkpoints/last"
BEST = "checkpoints/best"
RESULT = "result.json"
CURVE = "curve.png"
