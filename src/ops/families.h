// The families that ops and reference kernels are kept in, a file each: NAME_ops() gives the lines
// of one (src/ops), NAME_kernels() of the other (src/kernels). A new family is a word here and its file.
#pragma once

// In the order in which all_ops() lists them.
#define DEPUTE_OP_FAMILIES(FAMILY)                                  \
  FAMILY(pointwise)                                                 \
  FAMILY(numeric)                                                   \
  FAMILY(special)                                                   \
  FAMILY(polynomial)                                                \
  FAMILY(bessel)                                                    \
  FAMILY(zeta)                                                      \
  FAMILY(incomplete_gamma)                                          \
  FAMILY(neighbour)                                                 \
  FAMILY(complex_number)                                            \
  FAMILY(fourier)                                                   \
  FAMILY(short_time)                                                \
  FAMILY(window_function)                                           \
  FAMILY(activation)                                                \
  FAMILY(view)                                                      \
  FAMILY(split)                                                     \
  FAMILY(diagonal)                                                  \
  FAMILY(memory)                                                    \
  FAMILY(reduction)                                                 \
  FAMILY(vector_norm)                                               \
  FAMILY(statistics)                                                \
  FAMILY(scan)                                                      \
  FAMILY(linear_algebra)                                            \
  FAMILY(product)                                                   \
  FAMILY(matrix_decomposition)                                      \
  FAMILY(expert)                                                    \
  FAMILY(convolution)                                               \
  FAMILY(pooling)                                                   \
  FAMILY(norm)                                                      \
  FAMILY(resize)                                                    \
  FAMILY(sampling)                                                  \
  FAMILY(interpolation)                                             \
  FAMILY(patch)                                                     \
  FAMILY(volume)                                                    \
  FAMILY(loss)                                                      \
  FAMILY(class_loss)                                                \
  FAMILY(embedding)                                                 \
  FAMILY(attention)                                                 \
  FAMILY(rnn)                                                       \
  FAMILY(creation)                                                  \
  FAMILY(random_number)                                             \
  FAMILY(range)                                                     \
  FAMILY(indexing)                                                  \
  FAMILY(index_form)                                                \
  FAMILY(order)                                                     \
  FAMILY(unique)                                                    \
  FAMILY(scatter)                                                   \
  FAMILY(combining)                                                 \
  FAMILY(stacking)                                                  \
  FAMILY(arranging)                                                 \
  FAMILY(symbolic)                                                  \
  FAMILY(control_flow)                                              \
  FAMILY(batch)                                                     \
  FAMILY(quantised)                                                 \
  FAMILY(affine)                                                    \
  FAMILY(llm)                                                       \
  FAMILY(auto_functionalized)                                       \
  /* the compiler's own: the marks of flat methods, and the rest */ \
  FAMILY(control)                                                   \
  FAMILY(own)

// `row` has what works on one row of a tensor after the other: softmax, sorting, cumulative sums.
#define DEPUTE_KERNEL_FAMILIES(FAMILY) \
  FAMILY(pointwise)                    \
  FAMILY(activation)                   \
  FAMILY(view)                         \
  FAMILY(memory)                       \
  FAMILY(combining)                    \
  FAMILY(creation)                     \
  FAMILY(reduction)                    \
  FAMILY(row)                          \
  FAMILY(linear_algebra)               \
  FAMILY(convolution)                  \
  FAMILY(pooling)                      \
  FAMILY(norm)                         \
  FAMILY(resize)                       \
  FAMILY(indexing)                     \
  FAMILY(quantised)                    \
  FAMILY(symbolic)
