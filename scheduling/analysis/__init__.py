"""Questions about Scops and schedules, which change neither."""
