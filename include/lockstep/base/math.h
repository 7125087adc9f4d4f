// Elementary functions with one answer everywhere (A8): scalars. Vectors use the same trees, math_*-inl.h.
#pragma once

#include <cstdint>

namespace lockstep {

// Each is the tree of the same name: the same bits with hardware FMA and without, on any compiler and instruction set.
// Errors are below 1.5 ULP (f32) and 2 ULP (f64) for all finite arguments. NaN gives that NaN, quiet.
float ls_exp(float x);
float ls_expm1(float x);
float ls_log(float x);    // log(0) = -inf, log(x < 0) = NaN
float ls_log1p(float x);  // likewise at -1
float ls_tanh(float x);
float ls_sigmoid(float x);
float ls_erf(float x);
float ls_sin(float x);  // beyond kTrigLimit32: ls_sin(double(x)), rounded
float ls_cos(float x);
float ls_pow(float x, float y);

double ls_exp(double x);
double ls_expm1(double x);
double ls_log(double x);
double ls_log1p(double x);
double ls_tanh(double x);
double ls_sigmoid(double x);
double ls_erf(double x);
double ls_sin(double x);  // beyond kTrigLimit64 reduced with as many digits of 2/pi as it takes; sin(inf) = NaN
double ls_cos(double x);
double ls_pow(double x, double y);

// a * b + c in one rounding: the CPU's instruction where it has one, else exact emulation. Never libm.
float fma(float a, float b, float c);
double fma(double a, double b, double c);

// The emulation, for tests and for trees compiled without hardware FMA.
float fma_emulated(float a, float b, float c);
double fma_emulated(double a, double b, double c);

}  // namespace lockstep
