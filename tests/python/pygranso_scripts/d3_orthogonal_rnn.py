"""D3, self-contained and small: a recurrent network with an orthogonal hidden matrix, l2 folding."""
import torch
import torch.nn as nn
from pygranso.private.getNvar import getNvarTorch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
double_precision = torch.double
torch.manual_seed(0)
steps, width, hidden, classes, batch = 8, 6, 8, 4, 24
templates = torch.randn(classes, steps, width)
labels = torch.arange(batch) % classes
inputs = (templates[labels] + 0.1 * torch.randn(batch, steps, width)).to(device=device, dtype=double_precision)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(width, hidden, 1, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        out, hidden_state = self.rnn(x)
        return self.fc(out[:, -1, :])


model = RNN().to(device=device, dtype=double_precision)
model.train()


def user_fn(model, inputs, labels):
    logits = model(inputs)
    f = nn.CrossEntropyLoss()(logits, labels)
    A = list(model.parameters())[1]
    ce = pygransoStruct()
    c1_vec = (A.T @ A - torch.eye(hidden).to(device=device, dtype=double_precision)).reshape(hidden**2, 1)
    ce.c1 = torch.linalg.vector_norm(c1_vec, 2)
    return [f, None, ce]


nvar = getNvarTorch(model.parameters())
opts = pygransoStruct()
opts.torch_device = device
opts.x0 = torch.nn.utils.parameters_to_vector(model.parameters()).detach().reshape(nvar, 1)
opts.opt_tol = 1e-3
opts.viol_eq_tol = 1e-4
opts.maxit = 400
opts.print_frequency = 50
soln = pygranso(var_spec=model, combined_fn=lambda model: user_fn(model, inputs, labels), user_opts=opts)
torch.nn.utils.vector_to_parameters(soln.final.x, model.parameters())
accuracy = (model(inputs).argmax(1) == labels).double().mean().item()
assert accuracy == 1.0 and soln.final.tve <= 1e-4, (accuracy, soln.final.tve, soln.termination_code)
print("passed")
