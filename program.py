
import numpy as np
import lathe
from lathe.sklearn import QSVC, QSVR, QOneClassSVM

s = lathe.solve(lambda x: float(x @ x), x0=[1.0, 2.0], maxit=5)
code: int = s.termination_code
print(s.f, s.x, s.final.x, s.final.tv, s.iters, s.how, s.best, s.certificate)
r = lathe.minimize(lambda x: float(x @ x), [1.0, 2.0], bounds=[(0, None), (0, None)], tol=1e-6)
print(r.x, r.success, r.fun)
g = lathe.function(lambda x: np.sum(x), np.ones(3))
print(g(np.ones(3)), g.grad(np.ones(3)), g.grad.wrt(0)(np.ones(3)), g.plan(), g.stats)
k = lathe.QuantumKernel(np.zeros((1, 2)), re_embed=True)
print(k(np.ones((3, 2))), lathe.gram(np.ones((3, 2)), weights=np.zeros((1, 2))).shape, k.info)
m = QSVC(C=1.0, re_embed=True).fit(np.ones((2, 2)), [0, 1])
print(m.predict(np.ones((1, 2))), m.classes_, m.get_params(), QSVR(), QOneClassSVM())
lathe.generate("config.yaml", "out.h5", sampling={"total_samples": 4}, progress=True)
with lathe.Dataset("out.h5") as d:
    train, val, test = d.split(0.8, 0.1, 0.1, seed=0)
    print(len(d), d.features()["x"], d["/parameters/params"][1:2], d[3], d.info, train, d.statistics(train).normalize("parameters", np.ones(3)))
with lathe.profile("trace.json") as spans:
    pass
p = lathe.Problem("var x[2] = [1, 2]\nminimize sum(x^2)")
print(p.n, p.evaluate([1, 2]), p.check(), lathe.doctor().healthy, lathe.torch.report().ops)
lathe.console.quiet = True
lathe.compat.install()
