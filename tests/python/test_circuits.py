"""Circuits of Qiskit and functions of PennyLane as circuits of lathe: the same states, phases included, as their packages say."""
import unittest

import harness
import lathe
import numpy as np
from lathe import _core

RNG = np.random.default_rng(11)


class FromQiskit(unittest.TestCase):
    def check(self, circuit, weights=None):
        from qiskit.quantum_info import Statevector
        names = [p for p in circuit.parameters if not p.name.startswith("w")]
        of_weights = [p for p in circuit.parameters if p.name.startswith("w")]
        X = RNG.uniform(-1, 1, (4, len(names)))
        bound = dict(zip(of_weights, [] if weights is None else weights))
        want = np.array([Statevector(circuit.assign_parameters({**bound, **dict(zip(names, x))})).reverse_qargs().data for x in X])
        kernel = lathe.QuantumKernel(weights, circuit=circuit)
        np.testing.assert_allclose(kernel.states(X), want, atol=1e-12)
        np.testing.assert_allclose(kernel(X), np.abs(want @ want.conj().T) ** 2, atol=1e-12)

    @harness.needs("qiskit")
    def test_feature_maps(self):
        from qiskit.circuit.library import pauli_feature_map, real_amplitudes, zz_feature_map
        self.check(zz_feature_map(3))
        self.check(pauli_feature_map(3, paulis=["X", "ZY", "ZZZ"]))
        self.check(zz_feature_map(3, reps=1).compose(real_amplitudes(3, reps=1, parameter_prefix="w")).compose(zz_feature_map(3, reps=1, parameter_prefix="z")), RNG.uniform(-1, 1, 6))
        np.testing.assert_allclose(lathe.gram(np.eye(3), circuit=zz_feature_map(3)), lathe.gram(np.eye(3), map="zz"), atol=1e-12)

    @harness.needs("qiskit")
    def test_gates_definitions_and_expressions(self):
        from qiskit import QuantumCircuit, QuantumRegister
        from qiskit.circuit import AnnotatedOperation, ControlModifier, InverseModifier, Parameter, ParameterVector
        from qiskit.circuit.library import CRZGate, ECRGate, HGate, MCPhaseGate, QFTGate, RXGate, RYGate, UnitaryGate, XXPlusYYGate
        from qiskit.quantum_info import random_unitary
        a, theta, w = Parameter("a b"), ParameterVector("θ", 11), ParameterVector("weight", 2)
        inner = QuantumCircuit(2, name="my gate!")
        inner.rx(a, 0)
        inner.cx(0, 1)
        inner.rz(a * theta[2], 1)
        c = QuantumCircuit(QuantumRegister(2, "qa"), QuantumRegister(2, "β"), global_phase=a)
        for i in range(4):
            c.ry(theta[i + 7] * theta[0] - w[i % 2] ** 2 + np.pi / 3, i)
        c.append(inner.to_gate(), [0, 2])
        c.append(inner.to_gate().inverse().control(1, annotated=False), [1, 3, 0])
        c.append(inner.to_instruction(), [3, 1])
        c.rx((theta[1] + 1).sin() * 2 + theta[3].exp() / 3 - (theta[4] * 0.5).arcsin() + 1 / (theta[5] + 3), 2)
        for gate, wires in ((XXPlusYYGate(a, theta[6]), [0, 1]), (ECRGate(), [1, 3]), (MCPhaseGate(a, 3), [0, 1, 2, 3]), (CRZGate(a).control(1, annotated=False), [0, 1, 2]), (HGate().control(2, ctrl_state=1, annotated=False), [0, 1, 3]),
                            (RYGate(a).control(2, ctrl_state=2, annotated=False), [0, 1, 3]), (QFTGate(3), [0, 1, 2]), (UnitaryGate(random_unitary(4, seed=1)), [2, 0]),
                            (AnnotatedOperation(RXGate(a), [InverseModifier(), ControlModifier(1)]), [0, 1])):
            c.append(gate, wires)
        c.u(a, theta[0], theta[1], 3)
        c.barrier()
        self.check(c, np.array([0.3, -0.8]))

    @harness.needs("qiskit")
    def test_what_is_no_gate(self):
        from qiskit import QuantumCircuit
        for add in (lambda c: c.measure(0, 0), lambda c: c.reset(0), lambda c: c.if_test((c.clbits[0], 1), QuantumCircuit(1), [0], [])):
            c = QuantumCircuit(2, 2)
            add(c)
            with self.assertRaisesRegex(lathe.ArgumentError, "is no unitary gate"):
                lathe.QuantumKernel(circuit=c)


class FromPennyLane(unittest.TestCase):
    def check(self, function, features, wires, weights=None):
        import pennylane as qml
        X = RNG.uniform(-0.9, 0.9, (4, features))
        arguments = [] if weights is None else [weights]
        node = qml.QNode(lambda x: (function(x, *arguments), qml.state())[1], qml.device("default.qubit", wires=wires))
        want = np.array([node(x) for x in X])
        kernel = lathe.QuantumKernel(weights, circuit=function)
        np.testing.assert_allclose(kernel.states(X), want, atol=1e-12)
        np.testing.assert_allclose(kernel(X), np.abs(want @ want.conj().T) ** 2, atol=1e-12)
        return kernel

    @harness.needs("pennylane")
    def test_templates(self):
        import pennylane as qml
        self.check(lambda x: qml.IQPEmbedding(x, wires=range(4), n_repeats=2), 4, 4)
        self.check(lambda x, w: qml.QAOAEmbedding(x, w, wires=range(3)), 3, 3, RNG.normal(size=(2, 6)))

        def strong(x, w):
            qml.AngleEmbedding(x, wires=range(3), rotation="Y")
            qml.StronglyEntanglingLayers(w, wires=range(3))
            qml.adjoint(qml.AngleEmbedding)(np.pi - x ** 2, wires=range(3))
        kernel = self.check(strong, 3, 3, RNG.normal(size=(2, 3, 3)))
        X, dK = RNG.uniform(size=(4, 3)), RNG.normal(size=(4, 4))
        slope, h = kernel.gradient(X, dK), 1e-5
        self.assertEqual(slope.shape, (2, 3, 3))
        step = np.zeros((2, 3, 3))
        step[0, 1, 2] = h
        near = [np.sum(dK * lathe.gram(X, circuit=strong, weights=kernel.weights + s * step)) for s in (1, -1)]
        self.assertAlmostEqual(slope[0, 1, 2], (near[0] - near[1]) / (2 * h), places=7)

    @harness.needs("pennylane")
    def test_gates(self):
        import pennylane as qml

        def gates(x):
            for i in range(4):
                qml.RY(0.3 * (i + 1) + x[i], i)
            qml.RX(np.pi - x[0] * x[1] + np.sin(x[2]) / 2, 0)
            qml.ctrl(qml.RX(x[0], 0), control=[1, 2], control_values=[0, 1])
            qml.ctrl(qml.RY(x[1], 3), control=[1, 2, 0])
            qml.CRot(x[0], x[1], x[2], wires=[0, 1])
            qml.pow(qml.RX(x[0], 0), 2)
            qml.DoubleExcitation(x[1], wires=range(4))
            qml.PauliRot(x[0], "XYZ", wires=[0, 1, 2])
            qml.MultiRZ(x[1], wires=[0, 2, 3])
            qml.GlobalPhase(x[0])
            qml.QFT(wires=range(4))
            qml.U2(x[0], x[1], wires=2)
            qml.U3(x[0], x[1], 0.3, wires=1)
            qml.MultiControlledX(wires=range(4), control_values=[1, 0, 1])
            qml.Barrier(wires=[0, 1])
            qml.adjoint(qml.S(0))
            qml.TrotterProduct(qml.dot([0.1, 0.2], [qml.X(0) @ qml.X(1), qml.Z(0)]), time=1, n=2)
        self.check(gates, 4, 4)

    @harness.needs("pennylane")
    def test_nodes_and_tapes(self):
        import pennylane as qml

        @qml.qnode(qml.device("default.qubit", wires=["b", "a"]))
        def node(x):
            qml.RX(x[0], "a")
            qml.CRY(x[1], ["b", "a"])
            qml.RY(x[0] * 2, "b")
            return qml.probs()
        X = RNG.uniform(size=(3, 2))
        np.testing.assert_allclose(np.abs(lathe.QuantumKernel(circuit=node).states(X)) ** 2, [node(x) for x in X], atol=1e-12)
        tape = qml.tape.QuantumScript([qml.RX(0.1, 0), qml.RY(0.2, 1), qml.CNOT([0, 1])])
        want = lathe.gram(X, circuit=lambda x: (qml.RX(x[0], 0), qml.RY(x[1], 1)))
        np.testing.assert_allclose(lathe.gram(X, circuit=tape), want, atol=1e-12)

    @harness.needs("pennylane")
    def test_what_is_no_circuit(self):
        import pennylane as qml
        X = RNG.uniform(size=(3, 2))
        for function, message in ((lambda x: (qml.RX(x[0], 0), qml.measure(0)), "before measurements"), (lambda x: qml.RX(x[0], 0) if x[0] > 0 else None, "may not depend on it"),
                                  (lambda x: qml.RX(float(x[0]), 0), "by angles only"), (lambda x: qml.AmplitudeEmbedding(x, wires=[0], normalize=True), "map='amplitude'"),
                                  (lambda x: qml.ArbitraryUnitary([*x] * 7 + [x[0]], wires=[0, 1]), "angles")):
            with self.assertRaisesRegex(lathe.ArgumentError, message):
                lathe.gram(X, circuit=function)

    def test_other_things_are_refused(self):
        with self.assertRaisesRegex(lathe.ArgumentError, "circuit is of type int"):
            lathe.gram(np.eye(2), circuit=3)
        with self.assertRaisesRegex(lathe.ArgumentError, "a function knows its wires from the first X"):
            lathe.QuantumKernel(circuit=lambda x: None).qasm()


class Core(unittest.TestCase):
    """What both stand on, without them."""

    def test_a_circuit_gate_by_gate(self):
        c = _core.Circuit.of_wires(2, 1, 1)
        c.gate("RX", [0], ("x[0]*w[0]",))
        c.pauli("ZY", "pi/3", [0, 1])
        s = np.sqrt(0.5)
        c.unitary(np.stack([[[s, s], [s, -s]], np.zeros((2, 2))], axis=-1), [1])
        self.assertEqual((c.info["qubits"], c.info["features"], c.info["weights"], c.info["gates"]), (2, 1, 1, 3))
        for call, message in ((lambda: c.gate("RX", [7], ("1",)), "wire 7"), (lambda: c.gate("RX", [-1], ("1",)), "wire"), (lambda: c.gate("RX", [0], ("x[5]",)), "below 1"),
                              (lambda: c.gate("RX", list(range(70)), ("1",)), "70 wires"), (lambda: c.gate("RX", ["a"], ("1",)), "integer"), (lambda: c.gate("RX", [0], ("1",) * 9), "9 angles"),
                              (lambda: c.pauli("ZYX", "1", [0, 1]), "ZYX"), (lambda: c.unitary(np.ones((2, 2, 2)), [0]), "not unitary"), (lambda: c.unitary(np.ones((2, 2)), [0]), "shape")):
            with self.assertRaisesRegex(Exception, message):
                call()

    def test_angles(self):
        from lathe.circuits import Angle, angle_text
        x = Angle("x[0]")
        self.assertEqual(angle_text(2 * (np.pi - x) ** 2 / np.float64(3) - np.sin(-x)), "(((2.0 * ((3.141592653589793 - x[0]) ^ 2.0)) / 3.0) - sin((-x[0])))")
        self.assertEqual(angle_text(np.array([x * np.arange(2)], dtype=object)[0][1]), "(x[0] * 1.0)")


if __name__ == "__main__":
    unittest.main()
