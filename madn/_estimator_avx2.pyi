from madn._estimator import Network as Network
