"""Circuits of other packages: Qiskit's, and functions, QNodes and tapes of PennyLane.

Gates that lathe has go over by name, with their angles as texts; fixed ones on up to four wires as matrices; the rest as their packages define them (decision 413).
"""
from __future__ import annotations

import os
import re

import numpy as np

from . import _core
from .errors import ArgumentError

MOST_MATRIX_WIRES = 4


def package_of(circuit) -> str:
    """'qiskit', 'pennylane' (which takes any function), or what else it is from."""
    package = type(circuit).__module__.partition(".")[0]
    return "pennylane" if package == "pennylane" or package != "qiskit" and callable(circuit) else package


def waits(circuit) -> bool:
    """Whether the circuit is made for a number of features, as a function is."""
    return not isinstance(circuit, (str, os.PathLike)) and package_of(circuit) == "pennylane" and not hasattr(circuit, "get_parameters")


def described(circuit) -> str:
    return "a circuit in OpenQASM" if isinstance(circuit, (str, os.PathLike)) else f"a circuit of {package_of(circuit)}"


def circuit_of(circuit, features, weights) -> _core.Circuit:
    package = package_of(circuit)
    if package == "qiskit":
        return FromQiskit(circuit).circuit
    if package == "pennylane":
        return FromPennyLane(circuit, features, weights).circuit
    raise ArgumentError(f"circuit is of type {type(circuit).__name__}: expected OpenQASM, a circuit of Qiskit, or a function, QNode or tape of PennyLane")


def add_matrix(circuit, matrix, wires):
    circuit.unitary(np.stack([matrix.real, matrix.imag], axis=-1), wires)


class FromQiskit:
    """Parameters whose names begin with w are weights, all others features, each in Qiskit's order: by name, those of a vector by index."""

    GATES = {"x": "X", "y": "Y", "z": "Z", "h": "H", "s": "S", "sdg": "Sdg", "t": "T", "tdg": "Tdg", "sx": "SX", "sxdg": "SXdg", "rx": "RX", "ry": "RY", "rz": "RZ", "p": "P", "u1": "P",
             "u": "U3", "u3": "U3", "cx": "CX", "cy": "CY", "cz": "CZ", "ch": "CH", "swap": "SWAP", "iswap": "iSWAP", "crx": "CRX", "cry": "CRY", "crz": "CRZ", "cp": "CP", "cu1": "CP",
             "rxx": "RXX", "ryy": "RYY", "rzz": "RZZ", "ccx": "CCX", "cswap": "CSWAP"}

    def __init__(self, circuit):
        names = [p.name for p in circuit.parameters]
        weights = [name for name in names if name.startswith("w")]
        features = [name for name in names if not name.startswith("w")]
        self.leaf = {**{name: f"x[{i}]" for i, name in enumerate(features)}, **{name: f"w[{i}]" for i, name in enumerate(weights)}}
        self.circuit = _core.Circuit.of_wires(circuit.num_qubits, len(features), len(weights))
        self.add_all(circuit, range(circuit.num_qubits))

    def angle(self, value) -> str:
        """A parameter's name may be anything, so it is replaced before the expression becomes a text."""
        if not getattr(value, "parameters", None):
            return repr(float(value))
        from qiskit.circuit import Parameter
        leaves = {p: Parameter(f"lathe_{i}_") for i, p in enumerate(value.parameters)}
        texts = {leaf.name: self.leaf[p.name] for p, leaf in leaves.items()}
        for p, leaf in leaves.items():
            value = value.assign(p, leaf)
        return re.sub(r"lathe_\d+_", lambda found: texts[found.group()], str(value))

    def add_all(self, circuit, wires):
        if getattr(circuit.global_phase, "parameters", None) or float(circuit.global_phase):
            self.circuit.gate("GlobalPhase", [], (self.angle(circuit.global_phase),))
        for instruction in circuit.data:
            self.add(instruction.operation, [wires[circuit.find_bit(q).index] for q in instruction.qubits])

    def add(self, gate, wires):
        fixed = not any(getattr(value, "parameters", None) for value in getattr(gate, "params", ()))
        if gate.name == "barrier" or gate.name == "id":
            return
        if gate.name in self.GATES and getattr(gate, "base_class", type(gate)).__module__.startswith("qiskit.circuit.library.standard_gates"):
            self.circuit.gate(self.GATES[gate.name], wires, tuple(self.angle(value) for value in gate.params))
        elif fixed and len(wires) <= MOST_MATRIX_WIRES and (matrix := self.matrix(gate)) is not None:
            add_matrix(self.circuit, matrix, wires[::-1])  # Qiskit's first wire is the least significant bit
        else:
            self.add_all(self.definition(gate), wires)

    @staticmethod
    def matrix(gate):
        from qiskit.exceptions import QiskitError
        from qiskit.quantum_info import Operator
        try:
            return np.asarray(Operator(gate).data)
        except (QiskitError, TypeError, AttributeError):
            return None

    @staticmethod
    def definition(gate):
        """Of the gate, or what Qiskit's synthesis makes of those that have none, as modified ones."""
        if getattr(gate, "definition", None) is not None:
            return gate.definition
        from qiskit import QuantumCircuit
        from qiskit.circuit import AnnotatedOperation
        from qiskit.transpiler.passes import HighLevelSynthesis
        if not isinstance(gate, AnnotatedOperation):
            raise ArgumentError(f"{gate.name} is no unitary gate with a definition: a kernel needs the state before measurements, resets and classical control")
        alone = QuantumCircuit(gate.num_qubits)
        alone.append(gate, range(gate.num_qubits))
        made = HighLevelSynthesis()(alone)
        return made


class Angle:
    """What a function of PennyLane gets for a number of x or w: what is computed with it becomes the text of an expression."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def _with(self, other, sign, turned=False):
        if isinstance(other, np.ndarray):
            return NotImplemented
        a, b = (other, self) if turned else (self, other)
        return Angle(f"({angle_text(a)} {sign} {angle_text(b)})")

    def __neg__(self):
        return Angle(f"(-{self.text})")

    def __pos__(self):
        return self

    def __bool__(self):
        raise ArgumentError("the circuit asks whether a number of x or w is zero: its gates may not depend on it")

    def __float__(self):
        raise ArgumentError("the circuit needs a number of x or w as a number: its gates may depend on it by angles only")


def _operations():
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("pow", "^")):
        setattr(Angle, f"__{name}__", lambda self, other, sign=sign: self._with(other, sign))
        setattr(Angle, f"__r{name}__", lambda self, other, sign=sign: self._with(other, sign, True))
    for name, numpy_names in (("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("exp", "exp"), ("ln", "log"), ("sqrt", "sqrt"), ("arcsin", "arcsin"), ("arccos", "arccos"), ("arctan", "arctan")):
        setattr(Angle, numpy_names, lambda self, name=name: Angle(f"{name}({self.text})"))
    for name in ("lt", "le", "gt", "ge"):
        setattr(Angle, f"__{name}__", lambda self, other: bool(self))


_operations()


def angle_text(value) -> str:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if isinstance(value, (complex, np.complexfloating)) and value.imag == 0:
        value = value.real
    if isinstance(value, (complex, np.complexfloating)):
        raise ArgumentError(f"an angle of {value}: expected a real number")
    return value.text if isinstance(value, Angle) else repr(float(value))


def angles_of(letter, shape):
    made = np.empty(shape, dtype=object)
    made.reshape(-1)[:] = [Angle(f"{letter}[{i}]") for i in range(made.size)]
    return made


class FromPennyLane:
    """f(x) or f(x, w): x a row, w in the shape of the weights. Of a tape, the trainable parameters are the features."""

    GATES = {"PauliX": "X", "PauliY": "Y", "PauliZ": "Z", "Hadamard": "H", "S": "S", "T": "T", "SX": "SX", "RX": "RX", "RY": "RY", "RZ": "RZ", "PhaseShift": "P", "U1": "P", "U3": "U3",
             "CNOT": "CX", "CY": "CY", "CZ": "CZ", "CH": "CH", "SWAP": "SWAP", "ISWAP": "iSWAP", "CRX": "CRX", "CRY": "CRY", "CRZ": "CRZ", "ControlledPhaseShift": "CP", "IsingXX": "RXX",
             "IsingYY": "RYY", "IsingZZ": "RZZ", "Toffoli": "CCX", "CSWAP": "CSWAP", "MultiRZ": "MultiRZ"}

    def __init__(self, circuit, features, weights):
        tape, n_features = self.tape(circuit, features, weights)
        wires = tape.wires
        if hasattr(circuit, "device") and circuit.device.wires:
            wires = circuit.device.wires
        elif all(isinstance(wire, int) for wire in wires):
            wires = sorted(wires)
        self.place = {wire: i for i, wire in enumerate(wires)}
        self.circuit = _core.Circuit.of_wires(len(self.place), n_features, 0 if weights is None else weights.size)
        for operation in tape.operations:
            self.add(operation)

    @staticmethod
    def tape(circuit, features, weights):
        import pennylane as qml
        if hasattr(circuit, "get_parameters"):
            count = len(circuit.get_parameters())
            return circuit.bind_new_parameters(list(angles_of("x", count)), circuit.trainable_params), count
        arguments = [angles_of("x", features)] + ([] if weights is None else [angles_of("w", weights.shape)])
        with qml.queuing.AnnotatedQueue() as queue:
            try:
                getattr(circuit, "func", circuit)(*arguments)
            except (ImportError, TypeError) as error:
                if "autoray" in str(error) or "Angle" in str(error):
                    raise ArgumentError(f"the function computes with the numbers of x or w, which may stand in angles only (states of amplitudes are map='amplitude'): {error}") from error
                raise
        return qml.tape.QuantumScript.from_queue(queue), features

    def add(self, gate):
        wires = [self.place[wire] for wire in gate.wires]
        fixed = not any(isinstance(value, Angle) for data in gate.data for value in np.asarray(data, dtype=object).reshape(-1))
        if gate.name in ("Identity", "Barrier", "Snapshot"):
            return
        if gate.name in self.GATES and len(gate.data) <= 3:
            self.circuit.gate(self.GATES[gate.name], wires, tuple(angle_text(value) for value in gate.data))
        elif gate.name == "GlobalPhase":
            self.circuit.gate("GlobalPhase", [], (angle_text(-gate.data[0]),))
        elif gate.name == "PauliRot":
            self.circuit.pauli(gate.hyperparameters["pauli_word"], angle_text(gate.data[0]), wires)
        elif fixed and wires and len(wires) <= MOST_MATRIX_WIRES and getattr(gate, "has_matrix", False):
            import pennylane as qml
            add_matrix(self.circuit, np.asarray(qml.matrix(gate, wire_order=gate.wires), dtype=complex), wires)
        else:
            for part in self.parts(gate):
                self.add(part)

    @staticmethod
    def parts(gate):
        import pennylane as qml
        turned = getattr(getattr(gate, "base", None), "name", None)
        if turned in ("RX", "RY", "RZ") and getattr(gate, "control_wires", None):  # PennyLane wants their numbers
            return controlled_turn(qml, gate)
        if gate.name == "U2":
            return [qml.U3(np.pi / 2, *gate.data, wires=gate.wires)]
        if not gate.has_decomposition:
            raise ArgumentError(f"{gate.name} has no unitary decomposition in PennyLane: a kernel needs gates, and the state before measurements")
        try:
            return gate.decomposition()
        except (ImportError, TypeError) as error:  # it computes with the numbers
            raise ArgumentError(f"{gate.name}: PennyLane decomposes it only with numbers, not with angles of x or w; write it by other gates ({error})") from error


def controlled_turn(qml, gate):
    """A rotation by t under controls: half of it, nots under the controls, half of it back, nots again."""
    wire, half = gate.base.wires[0], gate.base.data[0] / 2
    turn = qml.RY if gate.base.name == "RY" else qml.RZ
    with qml.queuing.QueuingManager.stop_recording():
        change = [qml.Hadamard(wire)] if gate.base.name == "RX" else []
        nots = qml.MultiControlledX(wires=[*gate.control_wires, wire], control_values=gate.control_values)
        return [*change, turn(half, wire), nots, turn(-half, wire), nots, *change]


__all__ = ["circuit_of", "described", "waits"]
