// Lists the families of ops and of reference kernels, one file each: NAME_ops() returns the lines of ops,
// NAME_kernels() those of kernels, in a file beside the ops. To add a family, add its name here and its file.
#pragma once

// In the order of all_ops().
#define DEPUTE_OP_FAMILIES(FAMILY)                                  \
  FAMILY(pointwise)                                                 \
  FAMILY(numeric)                                                   \
  FAMILY(special)                                                   \
  FAMILY(polynomial)                                                \
  FAMILY(bessel)                                                    \
  FAMILY(zeta)                                                      \
  FAMILY(incomplete_gamma)                                          \
  FAMILY(neighbor)                                                  \
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
  FAMILY(quantized)                                                 \
  FAMILY(affine)                                                    \
  FAMILY(llm)                                                       \
  FAMILY(auto_functionalized)                                       \
  /* the compiler's own: the marks of flat methods, and the rest */ \
  FAMILY(control)                                                   \
  FAMILY(own)

// Family `row` has ops on one row of a tensor at a time: softmax, sorting, cumulative sums.
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
  FAMILY(quantized)                    \
  FAMILY(symbolic)
