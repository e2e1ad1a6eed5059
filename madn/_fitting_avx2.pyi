from madn._fitting import Fitter as Fitter
