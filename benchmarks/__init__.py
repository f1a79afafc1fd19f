"""The benchmarks: what OpenSkelo costs, as ratios to raw baselines that are measured in the same run."""
