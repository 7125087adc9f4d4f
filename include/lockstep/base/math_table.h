// Coefficients and constants of the elementary functions (A8): the one table, for scalars and for vectors.
#pragma once

#include <cstddef>

namespace lockstep::math {

// Polynomials are minimax fits, coefficients rounded one after the other from the lowest (the rest refitted), and are
// listed from the lowest power. The error in each comment is relative to the function, after rounding.

// e^r = 1 + r + r^2 q(r), |r| <= 0.347: 2^-28.2
inline constexpr float kExp32[] = {0x1.fffffcp-2f, 0x1.55548ap-3f, 0x1.55584ep-5f, 0x1.123f2cp-7f, 0x1.6ad0e6p-10f};
// log(1 + f) = f + f^2 q(f), sqrt(1/2) <= 1 + f < sqrt(2): 2^-27.3
inline constexpr float kLog32[] = {-0x1p-1f,         0x1.555554p-2f,  -0x1.000228p-2f, 0x1.99a038p-3f,
                                   -0x1.54721ap-3f, 0x1.22d54ep-3f, -0x1.0d8206p-3f, 0x1.057f6ep-3f,
                                   -0x1.3926ccp-4f};
// tanh(x) = x + x^3 q(x^2), |x| <= 0.9: 2^-29.8
inline constexpr float kTanh32[] = {-0x1.55554ep-2f, 0x1.110f38p-3f,  -0x1.b9ca5p-5f,  0x1.62f1eap-6f,
                                    -0x1.0ed86p-7f,  0x1.52a0d2p-9f, -0x1.dde4b2p-12f};
// erf(x) = x + x q(x^2), |x| <= 1: 2^-29.4
inline constexpr float kErfSmall32[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2ce6p-4f, -0x1.b7f71ap-6f,
                                        0x1.53f224p-8f, -0x1.a3515cp-11f, 0x1.4771eap-14f};
// log(erfc(t)) = q(t), 1 <= t <= 4: 2^-34.6 of erf
inline constexpr float kErfLarge32[] = {0x1.9c70b4p-13f, -0x1.212eeap+0f, -0x1.4428fp-1f,
                                        -0x1.bc8edep-4f, 0x1.9e6ff4p-6f,  -0x1.163b42p-8f,
                                        0x1.db22f6p-12f, -0x1.8bbeecp-16f, 0x1.1a07eep-23f};
// sin(r) = r + r^3 q(r^2), cos(r) = 1 - r^2 / 2 + r^4 q(r^2), |r| <= pi/4: 2^-32.5, 2^-37.0
inline constexpr float kSin32[] = {-0x1.555556p-3f, 0x1.111174p-7f, -0x1.a0594ep-13f, 0x1.7c2c54p-19f};
inline constexpr float kCos32[] = {0x1.555556p-5f, -0x1.6c175ep-10f, 0x1.a071b6p-16f, -0x1.361484p-22f};

// The same for f64: 2^-63.6; log((1 + s) / (1 - s)) = 2 s + s^3 q(s^2): 2^-66.6; 2^-63.2; 2^-69.0
inline constexpr double kExp64[] = {0x1p-1,
                                    0x1.555555555555dp-3,
                                    0x1.555555555556bp-5,
                                    0x1.111111110e58fp-7,
                                    0x1.6c16c16c0b635p-10,
                                    0x1.a01a01b5c257cp-13,
                                    0x1.a01a01decf64ep-16,
                                    0x1.71ddeb517ca3dp-19,
                                    0x1.27e467e2f7212p-22,
                                    0x1.af7301045fb13p-26,
                                    0x1.20185e0a8b1e1p-29};
inline constexpr double kLog64[] = {0x1.5555555555555p-1, 0x1.9999999999d1p-2,  0x1.24924924399cp-2,
                                    0x1.c71c724b413f7p-3, 0x1.745ce1d4fe897p-3, 0x1.3b202269e64d3p-3,
                                    0x1.0f677282bdb3cp-3, 0x1.0f0c392ee1697p-3};
inline constexpr double kSin64[] = {-0x1.5555555555555p-3,  0x1.1111111111069p-7,  -0x1.a01a019ffe523p-13,
                                    0x1.71de3a33a5886p-19,  -0x1.ae642c51d63dap-26, 0x1.6109bdac5ec1cp-33,
                                    -0x1.9ffdaa6b2b303p-41};
inline constexpr double kCos64[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16b3p-10, 0x1.a01a019ffcb8dp-16,
                                    -0x1.27e4fb5a22b7ap-22, 0x1.1eed6f8501a4p-29,  -0x1.93745a6192f7bp-37,
                                    0x1.9db2a60fd76f3p-45};
// The tail of the logarithm in pow: log((1 + s) / (1 - s)) = 2 s + 2/3 s^3 + s^5 q(s^2): 2^-77.0
inline constexpr double kPowLog64[] = {0x1.999999999999ap-2, 0x1.2492492492363p-2, 0x1.c71c71c747ea3p-3,
                                       0x1.745d172bc8aa9p-3, 0x1.3b13ba5a8a4ddp-3, 0x1.110f1c3bc9be5p-3,
                                       0x1.e2657ce8cc712p-4, 0x1.a509112314acap-4, 0x1.eca09b2d00957p-4};
// erf(x) = x + x q(x^2), |x| <= 1: 2^-56.3; log(erfc(1 + u)) = q(u), 0 <= u <= 5: 2^-58.7 of erf
inline constexpr double kErfSmall64[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b2p-4,
                                         -0x1.b82ce312849ap-6,   0x1.565bcd0db035dp-8,   -0x1.c02db3d8ee772p-11,
                                         0x1.f9a321a1435fdp-14,  -0x1.f4d1df3c07744p-17, 0x1.b9def1bfeda34p-20,
                                         -0x1.5f1d37d91ae3bp-23, 0x1.f7a41d8645ec2p-27,  -0x1.386ae2bcada71p-30,
                                         0x1.057a03d1dc616p-34};
inline constexpr double kErfLarge64[] = {
    -0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c23dp+1, -0x1.afabc11a28f2dp-1, -0x1.5477f09caaaf5p-5,
    0x1.48c9d40c66029p-7,  -0x1.033f69a31fce5p-9, 0x1.f1b4c19012473p-13, 0x1.b8bd7cf68dc89p-16,
    -0x1.c757154e47a4bp-16, 0x1.414d3fd7a8733p-17, -0x1.0e7e3f921ef07p-19, 0x1.a54ba97a2cf53p-24,
    0x1.1b44d26fc05ecp-23, -0x1.35cdea0a28dd5p-24, 0x1.996c6bd2c09fdp-26, -0x1.913fbf264d6d1p-28,
    0x1.2e68e23e1ff26p-30, -0x1.5b1227c7d3c0ap-33, 0x1.2407331666a61p-36, -0x1.4fbc9abd50498p-40,
    0x1.cd8a1e58b063p-45,  -0x1.1306bee5a152dp-50};

// tanh(x) = x + x^3 q(x^2), |x| <= 0.9: 2^-54.4
inline constexpr double kTanh64[] = {
    -0x1.555555555551p-2, 0x1.111111110d44fp-3, -0x1.ba1ba1b7c8d9ap-5, 0x1.664f48267f816p-6,
    -0x1.226e2cda3473ap-7, 0x1.d6d2cb1c0250fp-9, -0x1.7d989ad1c6442p-10, 0x1.35075548a3046p-11,
    -0x1.f20fc62b6e61p-13, 0x1.88d90e263192ep-14, -0x1.21909bd165e6ep-15, 0x1.6ab9e076e7b3p-17,
    -0x1.475abfb991202p-19, 0x1.30b33ee05e087p-22};

// ln 2 in two parts, the first with so few bits that k * kLn2High is exact for every exponent k; 1 / ln 2.
inline constexpr float kLn2High32 = 0x1.62e4p-1f, kLn2Low32 = 0x1.7f7d1cp-20f, kLog2e32 = 0x1.715476p+0f;
inline constexpr double kLn2High64 = 0x1.62e42fefa38p-1, kLn2Low64 = 0x1.ef35793c7673p-45;
inline constexpr double kLog2e64 = 0x1.71547652b82fep+0;
// pi / 2 in three parts; 2 / pi.
inline constexpr float kPio2A32 = 0x1.921fb6p+0f, kPio2B32 = -0x1.777a5cp-25f, kPio2C32 = -0x1.ee59dap-50f;
inline constexpr float kTwoOverPi32 = 0x1.45f306p-1f;
inline constexpr double kPio2A64 = 0x1.921fb54442d18p+0, kPio2B64 = 0x1.1a62633145c07p-54;
inline constexpr double kPio2C64 = -0x1.f1976b7ed8fbcp-110, kTwoOverPi64 = 0x1.45f306dc9c883p-1;
// 2/3 in two parts.
inline constexpr double kTwoThirdsHigh = 0x1.5555555555555p-1, kTwoThirdsLow = 0x1.5555555555555p-55;

// Adding and subtracting it rounds to the nearest integer, ties to even; the sum's low bits are that integer.
inline constexpr float kRound32 = 0x1.8p23f;
inline constexpr double kRound64 = 0x1.8p52;
// sin and cos trees hold for |x| up to these; beyond, call ls_sin / ls_cos for the element.
inline constexpr float kTrigLimit32 = 0x1p21f;
inline constexpr double kTrigLimit64 = 0x1p30;

}  // namespace lockstep::math
