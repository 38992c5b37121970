/* Axes: round tick positions and their labels, linear and logarithmic.
   SPDX-License-Identifier: BSD-3-Clause */
#include "report/markup.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1, 2 or 5 times a power of ten, so that about `target` steps cover `span`. */
static double round_step(double span, int target)
{
    double raw = span / target, power = pow(10, floor(log10(raw))), lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

static void add_tick(lt_axis *a, double value, const char *label)
{
    if (a->n_ticks == LT_AXIS_MAX_TICKS) return;
    a->tick[a->n_ticks] = value;
    snprintf(a->label[a->n_ticks], sizeof a->label[0], "%s", label);
    a->n_ticks++;
}

/* "10⁻⁵": superscript digits need no markup and work in titles too. */
static void power_label(int exponent, char *out, size_t capacity)
{
    static const char *const digit[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    char plain[16];
    snprintf(plain, sizeof plain, "%d", abs(exponent));
    snprintf(out, capacity, "10%s", exponent < 0 ? "⁻" : "");
    for (const char *p = plain; *p; p++)
        strncat(out, digit[*p - '0'], capacity - strlen(out) - 1);
}

/* Just enough digits to distinguish neighbours; powers of ten only where plain digits get long. */
static void linear_label(double value, double step, double largest, char out[40])
{
    if (fabs(value) < step / 2) value = 0;
    int digits = 2 + (int)ceil(log10(largest / step) - 1e-9);
    bool plain = largest < 1e6 && step > 0.99e-4;
    lt_number_text t = lt_number_str(value, LT_MIN(plain ? LT_MAX(digits, 7) : digits, 15));
    char *e = strchr(t.s, 'e');           /* 1.2e+07 reads better as 1.2e7 */
    if (e) {
        char *from = e + 1;
        bool negative = *from == '-';
        from += strspn(from, "+-0");
        snprintf(out, 40, "%.*se%s%s", (int)(e - t.s), t.s, negative ? "-" : "", from);
    } else {
        snprintf(out, 40, "%s", t.s);
    }
}

static void make_linear(lt_axis *a, double least_step, int target)
{
    /* A range that vanishes against its own size cannot be divided: show a fixed share around it. */
    double size = fmax(fabs(a->low), fabs(a->high));
    if (!(a->high - a->low > size * 1e-12)) {
        double pad = size > 0 ? size * 0.1 : 0.5;
        a->low -= pad;
        a->high += pad;
    }
    double step = LT_MAX(least_step, round_step(a->high - a->low, target));
    double first = floor(a->low / step + 1e-9), last = ceil(a->high / step - 1e-9);
    a->low = first * step;
    a->high = last * step;
    for (double i = first; i <= last + 0.5; i++) {
        char label[40];
        linear_label(i * step, step, fmax(fabs(a->low), fabs(a->high)), label);
        add_tick(a, i * step, label);
    }
}

static void make_log(lt_axis *a, int target)
{
    if (!(a->high > a->low * (1 + 1e-9))) {
        a->low /= 2;
        a->high *= 2;
    }
    int first = (int)floor(log10(a->low)), last = (int)ceil(log10(a->high));
    int every = LT_MAX(1, (last - first + target) / (target + 1));
    bool between = log10(a->high / a->low) < 2.5; /* few decades: mark 2 and 5 too */
    for (int e = first; e <= last; e++) {
        static const double lead[] = { 1, 2, 5 };
        for (int k = 0; k < (between ? 3 : 1); k++) {
            double value = lead[k] * pow(10, e);
            if (value < a->low * (1 - 1e-9) || value > a->high * (1 + 1e-9)) continue;
            if ((e - first) % every) continue;
            char label[40];
            if (k || (e >= -2 && e <= 3)) snprintf(label, sizeof label, "%s", lt_number_str(value, 6).s);
            else power_label(e, label, sizeof label);
            add_tick(a, value, label);
        }
    }
    if (a->n_ticks >= 2) return;
    /* Less than a decade: round numbers as on a linear axis, those within the data. */
    lt_axis even = { .low = a->low, .high = a->high };
    make_linear(&even, 0, target);
    a->n_ticks = 0;
    for (int i = 0; i < even.n_ticks; i++)
        if (even.tick[i] >= a->low && even.tick[i] <= a->high) add_tick(a, even.tick[i], even.label[i]);
}

static lt_axis make(lt_axis a, double least_step, int target_ticks)
{
    if (!isfinite(a.low) || !isfinite(a.high) || a.low > a.high || (a.log && a.low <= 0)) {
        a.low = a.log ? 1 : 0;
        a.high = a.log ? 10 : 1;
    }
    /* Differences of numbers near the end of the range would overflow. */
    a.low = LT_MAX(a.low, a.log ? 1e-300 : -1e300);
    a.high = LT_MIN(a.high, 1e300);
    if (a.log) make_log(&a, target_ticks);
    else make_linear(&a, least_step, target_ticks);
    return a;
}

lt_axis lt_axis_make(double low, double high, bool log, double from, double to, int target_ticks)
{
    return make((lt_axis){ .log = log, .low = low, .high = high, .from = from, .to = to }, 0, target_ticks);
}

lt_axis lt_axis_make_whole(double low, double high, double from, double to, int target_ticks)
{
    return make((lt_axis){ .low = low, .high = high, .from = from, .to = to }, 1, target_ticks);
}

bool lt_axis_shows(const lt_axis *a, double value) { return isfinite(value) && (!a->log || value > 0); }

double lt_axis_place(const lt_axis *a, double value)
{
    double share = a->log ? (log(value) - log(a->low)) / (log(a->high) - log(a->low))
                          : (value - a->low) / (a->high - a->low);
    return a->from + share * (a->to - a->from);
}
