"""The superposed strategy [Shirako, Hayashi, Sarkar 2017]: loop trees for blocks and for threads, found apart."""
