"""A part of the programs of one operator each (tests/one_op/one_op.py; `make test-one-op` runs 200,000), and faults that they found."""

import math
import os
import subprocess
import sys

import pytest
import torch
from harness import DEPUTE, ROOT
from stock_runtime import difference, lower, run_apart

sys.path.insert(0, str(ROOT / "tests" / "one_op"))
from calls import Program, results_of, torch_op, type_text  # noqa: E402

INT = torch.tensor
FAULTS = {
    "left_shift_by_the_width_and_more": ("aten.bitwise_left_shift.Tensor", [INT([1, 3, 5, 1]), INT([64, 1, 70, -1])]),
    "left_shift_of_i32_by_its_width": ("aten.bitwise_left_shift.Tensor", [INT([1, 3, 5], dtype=torch.int32), INT([32, 31, 33], dtype=torch.int32)]),
    "left_shift_by_a_number": ("aten.bitwise_left_shift.Tensor_Scalar", [INT([1, 3, 5], dtype=torch.int32), 40]),
    "cosine_similarity_that_broadcasts": ("aten.cosine_similarity.default", [torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0, 2.0, -5.0]] * 2), 1, 1e-8]),
    "linspace_into_integers": ("aten.linspace.default", [0.9, 7.9, 6, torch.int64, None, None, None]),
    "logspace_into_integers": ("aten.logspace.default", [0.9, 4.9, 4, 3.0, torch.int32, None, None, None]),
    "any_of_bytes_over_no_dimensions": ("aten.any.dims", [INT([[7, 0], [1, 2]], dtype=torch.uint8), [], False]),
    "cat_of_integers_behind_floats": ("aten.cat.default", [[torch.tensor([[0.5, 2.0]]), INT([[7, 8]], dtype=torch.int32), torch.tensor([[True, False]])], 1]),
    "dstack_of_mixed_types": ("aten.dstack.default", [[torch.tensor([0.5, 2.0]), INT([7, 8])]]),
    "right_shift_by_the_width_and_more": ("aten.bitwise_right_shift.Tensor", [INT([-9, 9, 7, -7]), INT([64, 70, 2, -1])]),
    "right_shift_of_bytes_by_their_width": ("aten.bitwise_right_shift.Tensor_Scalar", [INT([255, 3], dtype=torch.uint8), 8]),
    "bytes_compared_with_a_negative_number": ("aten.ge.Scalar", [INT([5, 255, 0], dtype=torch.uint8), -1]),
    "bytes_clamped_to_a_negative_number": ("aten.clamp.default", [INT([7, 0], dtype=torch.uint8), 0, -1]),
    "bytes_less_a_negative_multiple": ("aten.sub.Tensor", [INT([8, 0], dtype=torch.uint8), INT([5, 1], dtype=torch.uint8), -2]),
    "addcmul_in_the_type_of_the_result": ("aten.addcmul.default", [INT([1, 2]), INT([7, 8], dtype=torch.int8), INT([3, -3], dtype=torch.int8), 2**40]),
    "mean_of_real_numbers_as_complex_ones": ("aten.mean.default", [INT([9, -1, 2], dtype=torch.int8), torch.complex64]),
    "sum_of_bf16_is_rounded_once": ("aten.sum.dim_IntList", [torch.full((1000,), 1.01, dtype=torch.bfloat16), [0], False, None]),
    "mean_of_f16_is_rounded_once": ("aten.mean.dim", [torch.arange(4096).half() / 64, [0], False, None]),
    "cumsum_of_bf16_is_rounded_once": ("aten.cumsum.default", [torch.full((1000,), 1.01, dtype=torch.bfloat16), 0, None]),
    "cubic_interpolation_far_outside": ("aten.upsample_bicubic2d.default", [torch.rand(1, 1, 2, 2), [4, 9], False, None, 0.5]),
    "linear_interpolation_of_a_size_that_stays": ("aten.upsample_linear1d.default", [torch.rand(1, 2, 5), [5], False, 0.25]),
    "interpolation_of_nan_whose_size_stays": ("aten.upsample_linear1d.default", [torch.tensor([[[0.5, math.nan, 2.0]]]), [3], False, None]),
    "antialiased_interpolation_of_a_size_that_stays": ("aten._upsample_bicubic2d_aa.default", [torch.rand(1, 2, 5, 6), [5, 2], False, 0.5, 1.0]),
    "antialiased_interpolation_far_outside": ("aten._upsample_bilinear2d_aa.default", [torch.rand(1, 1, 4, 4), [4, 9], False, None, 0.25]),
    "negative_masked_indices": ("aten._unsafe_masked_index.default", [torch.tensor([0.25, 1.5]), torch.tensor(True), [INT([[-2, -1], [1, 0]])], 2]),
    "weight_norm_of_a_vector": ("aten._weight_norm.default", [torch.tensor([-0.5, -1.0, 1.5]), torch.tensor([3.5, 2.5, -4.0]), 0]),
    "two_sided_transform_of_real_numbers": ("aten._fft_r2c.default", [torch.rand(3, 6), [1], 2, False]),
    "transform_of_a_negative_dimension": ("aten._fft_r2c.default", [torch.rand(1), [-1], 2, True]),
    "adaptive_pool_of_nothing": ("aten.adaptive_avg_pool1d.default", [torch.empty(3, 0, 3), [5]]),
    "product_of_empty_matrices": ("aten.bmm.default", [torch.ones(2, 3, 2).bool(), torch.empty(2, 2, 0).bool()]),
    "expand_implicitly": ("aten.expand.default", [torch.rand(2, 1), [2, 3], True]),
    "linspace_of_tensors_into_bytes": ("aten.linspace.Tensor_Tensor", [INT(2), INT(-4), 5, torch.uint8, None, None, None]),
    "hermite_polynomial_of_a_fraction": ("aten.special_hermite_polynomial_he.n_scalar", [torch.rand(3), -0.5]),
    "total_weight_of_one_score": ("aten.nll_loss_forward.default", [torch.rand(3), INT(2), torch.rand(3), 0, -100]),
    "margins_of_nan": ("aten.multilabel_margin_loss.default", [torch.tensor([[0.5, -1.0, math.nan]]), INT([[0, -1, 2]]), 2]),
    "histogram_between_equal_limits": ("aten.histc.default", [torch.tensor([3.0, 4.0]), 10, 1.0, 1.0]),
    "distances_of_order_0_with_nan": ("aten._cdist_forward.default", [torch.tensor([[math.nan, 1.0], [2.0, 3.0]]), torch.rand(3, 2), 0.0, None]),
    "index_add_of_integers_by_a_fraction": ("aten.index_add.default", [INT([1, 2, 3]), 0, INT([0, 0]), INT([5, 6]), 1.75]),
    "renorm_of_a_large_order": ("aten.renorm.default", [torch.tensor([[-3.5, 2.5, -0.5]]), 1e30, -1, 3.0]),
    "clamp_beyond_its_type": ("aten.clamp.default", [torch.rand(4), math.nan, 1e300]),
    "leaky_relu_of_an_infinite_slope": ("aten.leaky_relu.default", [torch.tensor([-1.0, 0.0, 2.0]), -math.inf]),
    "scaled_quotient_in_half_precision": (
        "aten.addcdiv.default",
        [torch.tensor(-0.5).half(), torch.tensor(0.0).half(), torch.tensor(-2.5).half(), 1 << 31],
    ),
    "product_scaled_by_the_whole_of_a_fraction": ("aten.addcmul.default", [INT([9, -2]), INT([3, 4]), INT([5, 7]), -0.5]),
    "quotient_beyond_half_precision_scaled_by_0": (
        "aten.addcdiv.default",
        [torch.ones(2).half(), torch.tensor([3e4, 1.0]).half(), torch.tensor([1e-6, 2.0]).half(), 0.0],
    ),
    "bools_of_a_row_below_those_of_a_table": ("aten.le.Tensor", [torch.tensor([True, False]), torch.tensor([[False, True], [True, False], [False, False]])]),
    "halves_times_a_number_beyond_them": ("aten.mul.Tensor", [torch.tensor([0.0, 1.0, 0.001]).half(), -1e9]),
    "halves_by_a_number_beyond_them": ("aten.div.Scalar", [torch.tensor([0.0, 1.0, 3.5]).half(), 1e5]),
    "choice_of_16_bits_for_halves": ("quantized_decomposed.choose_qparams.tensor", [torch.tensor([2.0, -1.0]).half(), -(2**15), 2**15 - 1, 1e-6, torch.int16]),
    "norm_of_a_negative_order_of_zeros": ("aten.norm.Scalar", [torch.tensor([-0.0, 0.0, 2.0]), -1.0]),
    "remainder_of_the_least_integer": ("aten.remainder.Scalar", [INT([-(2**63), 7]), -1]),
    "remainders_of_the_least_integer": ("aten.remainder.Tensor", [INT([-(2**63), 7]), INT([-1, -4])]),
    "truth_of_a_number_summed_up": ("aten.cumsum.default", [torch.tensor(0.5), -1, torch.bool]),
    "large_power_of_a_complex_number": ("aten.pow.Tensor_Scalar", [torch.tensor([-1.0 + 0j, 0.5 - 0.5j, 0j]), 1e30]),
    "log_softmax_of_a_number": ("aten._log_softmax.default", [torch.tensor(7.0, dtype=torch.float64), -1, False]),
    "gradient_at_integers_that_return": ("aten.gradient.tensorarrayint", [INT([3, 5, 8, 1, 2]), [INT([0, -5, 2, 0, 2])], 0, 1]),
    "gradient_at_integers_of_equal_distance": ("aten.gradient.tensorarrayint", [INT([3, 5, 8, 1, 2]), [INT([0, -3, -3, 0, -3])], 0, 1]),
    "dequantization_by_zero_points_of_i32": (
        "quantized_decomposed.dequantize_per_channel.default",
        [INT([9, -2, 3], dtype=torch.int8), torch.rand(3), INT([3, 1, 2], dtype=torch.int32), 0, -128, 127, torch.int8, None],
    ),
    "quantization_of_rows_by_scales_of_f32": (
        "quantized_decomposed.quantize_per_token.default",
        [torch.rand(2, 3), torch.rand(2, 1) / 50 + 0.01, INT([[3], [1]], dtype=torch.int32), -128, 127, torch.int8],
    ),
    "grid_of_nan_reflected": ("aten.grid_sampler_2d.default", [torch.rand(1, 1, 3, 3), torch.full((1, 1, 1, 2), math.nan), 0, 2, False]),
    "product_of_matrices_with_nothing_in_common": ("aten.mm.default", [torch.empty(4, 0), torch.empty(0, 3)]),
    "sum_with_a_product_over_nothing": ("aten.addmm.default", [torch.rand(3), torch.empty(4, 0), torch.empty(0, 3), 2, 1]),
    "pairs_of_elements": ("aten.combinations.default", [torch.arange(5.0)]),
    "pairs_of_elements_with_themselves": ("aten.combinations.default", [INT([7, 8, 9]), 2, True]),
    "single_elements": ("aten.combinations.default", [torch.arange(3.0), 1]),
    "pairs_of_one_element": ("aten.combinations.default", [torch.arange(1.0), 2]),
    "negative_view": ("aten._neg_view.default", [torch.tensor([1.0, -0.0, 3.0])]),
    "negative_view_of_complex_numbers": ("aten._neg_view.default", [torch.tensor([1.0 + 2j, -0.5j])]),
    "product_of_bools": ("aten.einsum.default", ["i,j->ij", [INT([True, False]), INT([True, True, False])], None]),
    "complex_baddbmm_by_fractions": (
        "aten.baddbmm.default",
        [torch.ones(2, 2, dtype=torch.complex64) * 2j, torch.ones(1, 2, 2, dtype=torch.complex64), torch.ones(1, 2, 2, dtype=torch.complex64) * 1j, -0.5, 0.5],
    ),
    "hardtanh_with_its_limits_exchanged": ("aten.hardtanh.default", [torch.tensor([-2.0, 0.5, 2.0]), 1, 0]),
    "bf16_compared_with_a_number": ("aten.gt.Scalar", [torch.tensor([-1.9453125, 1.0], dtype=torch.bfloat16), -1.9478]),
    "threshold_of_integers_by_a_fraction": ("aten.threshold.default", [INT([-1, 0, 1]), -0.5, 7]),
    "index_put_of_floats_into_integers": ("aten.index_put.default", [INT([[5, 6], [7, 8]]), [INT([True, False])], torch.tensor(1.5), False]),
    "margin_loss_of_a_power_that_is_no_integer": ("aten.multi_margin_loss.default", [torch.rand(2, 3), INT([0, 2]), 1.25, 3.0, None, 1]),
    "copy_that_need_not_block": ("dim_order_ops._to_dim_order_copy.default", [torch.rand(2, 2), torch.int8, None, None, None, True, [0, 1]]),
    "logspace_from_a_negative_power_into_bytes": ("aten.logspace.default", [-3, 5.75, 7, 0.5, torch.uint8, None, None, None]),
    "power_of_bools": ("aten.pow_.Scalar", [INT([True, False]), True]),
    "grid_of_infinity_reflected": ("aten.grid_sampler_2d.default", [torch.rand(1, 1, 3, 3), torch.full((1, 1, 1, 2), math.inf), 0, 2, True]),
    "volume_read_at_nan": ("aten.grid_sampler_3d.default", [torch.rand(1, 1, 2, 2, 2), torch.full((1, 1, 1, 1, 3), math.nan), 0, 1, True]),
    "topk_ties": ("aten.topk.default", [INT([3, 1, 3, 2, 1, 3, 2, 2, 1, 3] * 8, dtype=torch.int32), 7, -1, True, True]),
    "log_softmax_of_nothing": ("aten._log_softmax.default", [torch.empty(2, 0), 1, False]),
    "safe_softmax_of_nothing": ("aten._safe_softmax.default", [torch.empty(2, 0), 1, None]),
    "layer_norm_of_256_halves": ("aten.layer_norm.default", [torch.linspace(-2, 3, 600).half().view(2, 300), [300], None, None, 1e-5, False]),
    "layer_norm_of_256_numbers_of_bf16": ("aten.layer_norm.default", [torch.linspace(-2, 3, 512).bfloat16().view(2, 256), [256], None, None, 1e-5, False]),
    "hardswish_of_large_halves": ("aten.hardswish.default", [torch.tensor([3e4, -3e4, 1.0], dtype=torch.float16)]),
    "deviation_of_large_halves": ("aten.std_mean.correction", [torch.tensor([3e4, -3e4, 1.0], dtype=torch.float16), None]),
    "variance_of_nothing": ("aten.var.correction", [torch.empty(2, 0), [1]], {"correction": -1e30}),
    "deviation_without_degrees_of_freedom": ("aten.std.correction", [torch.tensor([[1.0, 2.0], [3.0, 3.0]]), [1]], {"correction": 2}),
    "zero_point_of_bf16": ("quantized_decomposed.choose_qparams.tensor", [torch.tensor([-1.5547, 1.5938], dtype=torch.bfloat16), -128, 127, 1e-6, torch.int8]),
    "length_of_infinity_and_nan": ("aten.hypot.default", [torch.tensor([math.inf, math.nan, math.nan, 3.0]), torch.tensor([math.nan, -math.inf, 1.0, 4.0])]),
    "maximum_of_padding_alone": ("aten.max_pool1d.default", [torch.tensor([[0.5, 1.0]]), [2], [3], [1], [3]]),
    "gradient_of_a_threshold_of_integers": ("aten.threshold_backward.default", [torch.rand(3), INT([0, -1, 1]), -0.5]),
    "hinge_loss_of_integers_by_a_fraction": ("aten.hinge_embedding_loss.default", [INT([-2, -4, 7]), INT([0, 1, -1]), 0.5, 2]),
    "linear_over_nothing": ("aten.linear.default", [torch.empty(2, 0), torch.empty(3, 0), torch.tensor([1.0, 2.0, 3.0])]),
    "linear_over_nothing_without_bias": ("aten.linear.default", [torch.empty(2, 0), torch.empty(3, 0), None]),
    "maximum_of_a_window_with_nan": ("aten.max_pool2d.default", [torch.tensor([[[[1.0, math.nan, 2.0, 4.0], [3.0, 0.5, -math.inf, math.nan]]]]), [1, 2]]),
    "group_norm_of_equal_numbers": ("aten.native_group_norm.default", [torch.full((2, 2, 3), 1.822), None, None, 2, 2, 3, 1, 1e-5]),
    "group_norm_far_from_zero": ("aten.native_group_norm.default", [torch.linspace(10, 11, 24).view(1, 4, 6), None, None, 1, 4, 6, 2, 1e-5]),
    "complex_power_of_zero": ("aten.pow.Scalar", [0.0, torch.tensor([0.75j, -1.5 - 1.25j, 1 + 1j, 2])]),
    "zeta_of_infinity": ("aten.special_zeta.other_scalar", [torch.tensor([math.inf, 2.5, 1e30]), 2]),
    "zeta_of_infinity_and_1": ("aten.special_zeta.other_scalar", [torch.tensor([math.inf, 2.5]), 1]),
    "copy_along_a_dimension_of_nothing": ("aten.index_copy.default", [torch.empty(3, 0), 0, INT([-5]), torch.empty(1, 0)]),
    "take_along_a_circle": ("aten.take_along_dim.default", [torch.tensor([6.0, 7.0, 8.0]), INT([3, -1, 2, 7]), 0]),
    "take_along_one_element": ("aten.take_along_dim.default", [torch.tensor([[6.0], [7.0]]), INT([[3, 5, 2]]), -1]),
    "norm_of_an_empty_matrix": ("aten.linalg_matrix_norm.default", [torch.empty(0, 6), math.inf]),
    "distances_of_order_0_of_all_pairs_with_nan": ("aten._pdist_forward.default", [torch.tensor([[math.nan, 1.0], [2.0, 1.0], [math.inf, math.inf], [math.inf, 2.0]]), 0.0]),
    "grid_of_nan_with_zeros_outside": ("aten.grid_sampler_2d.default", [torch.rand(1, 2, 3, 3), torch.tensor([[[[math.nan, 0.0], [0.5, math.inf], [0.5, 0.25]]]]), 0, 0, False]),
    "cubic_grid_of_nan": ("aten.grid_sampler_2d.default", [torch.rand(1, 2, 3, 3), torch.tensor([[[[math.nan, 0.0], [0.5, math.inf], [0.5, 0.25]]]]), 2, 1, False]),
    "nearest_of_a_size_that_stays": ("aten.upsample_nearest1d.default", [torch.arange(6.0).view(1, 2, 3), [3], 1.25]),
    "integer_without_dimensions_in_buckets_of_bools": ("aten.bucketize.Tensor", [INT(-3, dtype=torch.int8), INT([False] * 5), False, False]),
    "max_pool_whose_dilation_steps_over_the_input": ("aten.max_pool2d.default", [torch.rand(1, 2, 4, 2).half(), [1, 2], [3, 3], [0, 1], [1, 3], True]),
    "batch_norm_of_halves_with_f32_statistics": (
        "aten._batch_norm_with_update_functional.default",
        [torch.rand(4, 3).bfloat16(), torch.rand(3), torch.rand(3), torch.rand(3), torch.rand(3), 0.1, 1e-05],
    ),
    "bytes_without_dimensions_in_buckets_of_i8": ("aten.bucketize.Tensor", [INT(255, dtype=torch.uint8), INT([0, 2], dtype=torch.int8)]),
    "histogram_with_nan": ("aten.histc.default", [torch.tensor([0.5, math.nan, 1.5]), 4, 0, 2]),
    "least_integer_divided_by_minus_1": ("aten.floor_divide.Scalar", [INT([-(2**31), 7], dtype=torch.int32), -1]),
    "rrelu_between_bools": ("aten.rrelu.default", [torch.tensor([-1.0, 2.0]), True, True, False, None]),
    "tie_of_a_zero_point": ("quantized_decomposed.choose_qparams.tensor", [torch.tensor([4.0, -4.0, 1.0]), 0, 255, 1e-6, torch.uint8]),
    "zero_points_of_rows_of_bytes": ("quantized_decomposed.choose_qparams_per_token_asymmetric.default", [INT([[3, 5, 0], [2, 8, 1]], dtype=torch.uint8), torch.uint8]),
    "least_integer_of_padding_alone": ("aten.max_pool3d.default", [INT([3, 5, 1, 2], dtype=torch.int8).view(1, 2, 2, 1, 1), [2, 1, 1], [2, 2, 2], [1, 0, 0], [3, 2, 3]]),
    "hardtanh_between_nans": ("aten.hardtanh.default", [torch.tensor([-2.0, 0.5]), math.nan, math.inf]),
    "hardtanh_of_bytes_by_a_negative_fraction": ("aten.hardtanh.default", [INT([9, 0, 1], dtype=torch.uint8), -0.5, 1]),
    "addr_of_integers_by_a_fraction": ("aten.addr.default", [INT([-2, 4], dtype=torch.int8), torch.tensor([1.5, 2.5]), INT([3, 7]), 3, -0.5]),
    "batch_norm_of_single_numbers_of_f64": ("aten._native_batch_norm_legit.no_stats", [torch.tensor([[-0.9969, 0.3964]]).double(), None, None, True, 0.1, 1e-5]),
    "batch_norm_without_eps": ("aten._native_batch_norm_legit.no_stats", [torch.tensor([[3.5, 4.0]]), torch.tensor([0.5, -2.5]), torch.tensor([1.0, 2.0]), True, 0.0, 0.0]),
    "linear_with_a_bias_of_a_matrix": ("aten.linear.default", [torch.rand(6, 1), torch.rand(6, 1), torch.rand(6, 1)]),
    "largest_distances_with_nan": ("aten._pdist_forward.default", [torch.tensor([[0.0, 1.0], [-3e4, -1.5], [math.nan, 2.0]]), math.inf]),
    "row_of_floats_put_into_bools": ("aten.select_scatter.default", [torch.ones(2, 3).bool(), torch.tensor([-0.25, 0.0]), 1, 1]),
    "rows_of_floats_put_into_bools": ("aten.slice_scatter.default", [torch.ones(2, 3).bool(), torch.tensor([[-0.25, 0.0], [0.5, 2.0]]), 1, 0, 2, 1]),
    "row_of_real_numbers_put_into_complex_ones": ("aten.select_scatter.default", [torch.full((1, 3), 1 + 2j), torch.tensor([-2.0]), 1, 1]),
    "fraction_put_into_bools": ("aten.scatter.value", [torch.zeros(1, 3).bool(), 1, INT([[1]]), 0.25]),
    "index_put_of_a_matrix_of_one": ("aten.index_put.default", [torch.rand(5), [INT([False, False, True, False, False])], torch.tensor([[0.5]]), False]),
    "scatter_by_an_empty_index": ("aten.scatter.value", [torch.rand(1, 1), 0, torch.empty(0, 3, dtype=torch.int64), -2]),
    "exponential_of_a_large_matrix": ("aten.matrix_exp.default", [torch.tensor([[0.0, 6e4], [0.0, 0.0]])]),
    "gradient_of_dropout_by_a_large_scale": ("aten.native_dropout_backward.default", [torch.tensor([2.0, 1.0]).half(), INT([True, False]), 1e5]),
    "margins_of_distances_that_are_equal": ("aten.triplet_margin_loss.default", [torch.tensor([0.0]), torch.tensor([2.5]), torch.tensor([3.0]), 1.0, 3.0, -1e30, False, 0]),
    "product_of_bools_of_floats": ("aten.prod.dim_int", [torch.tensor([[math.inf, 0.0], [1e30, 1e30], [1e-30, 1e-30]]), 1, False, torch.bool]),
    "sum_of_bools_of_floats": ("aten.sum.dim_IntList", [torch.tensor([[1.0, -1.0], [0.0, 0.0]]), [1], False, torch.bool]),
    "gradient_of_a_threshold_of_bytes": ("aten.threshold_backward.default", [torch.rand(3), INT([0, 5, 1], dtype=torch.uint8), -1]),
    "nearest_by_another_factor_of_a_size_that_doubles": ("aten.upsample_nearest2d.default", [torch.arange(4.0).view(1, 1, 4, 1), [8, 6], 2.1364773531571126, None]),
    "leaky_relu_by_a_large_slope": ("aten.leaky_relu.default", [torch.tensor([-1.0, 0.5]).half(), -1e6]),
    "zero_points_of_rows": ("quantized_decomposed.choose_qparams_per_token_asymmetric.default", [torch.tensor([[4.0, -4.0], [1e-7, 0.0], [-1.0, -3.0], [0.0, 0.0]]), torch.int8]),
}


def arguments_of(op, values, **keywords):
    """(argument of the schema, its value) of each; those not given have their defaults."""
    given = {argument.name: value for argument, value in zip(op._schema.arguments, values)} | keywords
    return [(argument, given.get(argument.name, argument.default_value)) for argument in op._schema.arguments]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault, tmp_path):
    name, values, *keywords = FAULTS[fault]
    op = torch_op(name)
    arguments = arguments_of(op, values, **dict(*keywords))
    want = results_of(op, arguments)
    made = (Program(op, name, arguments, seed) for seed in range(100))
    program = next(p for p in made if not p.data)  # a program whose tensors are inputs
    (tmp_path / "m.ir").write_text(program.text([type_text(t) for t in want]))
    assert lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte") is None
    bound = lambda t: 1e-3 if t.dtype in (torch.float16, torch.bfloat16) else 1e-5  # noqa: E731
    judge = lambda got: "; ".join(filter(None, (difference(a, b, bound(b)) for a, b in zip(got, want, strict=True))))  # noqa: E731
    assert run_apart(tmp_path / "m.pte", [(program.inputs, judge)]) == ("ok", "")


REFUSED = {
    "quant_min_above_quant_max": ("quantized_decomposed.dequantize_per_tensor.default", [INT([1], dtype=torch.int8), 0.5, 0, 127, -128, torch.int8, None]),
    "as_strided_scatter_to_elements_that_overlap": ("aten.as_strided_scatter.default", [torch.rand(6), torch.rand(3, 2), [3, 2], [1, 1], None]),
    "real_signal_of_another_size": ("aten._fft_c2r.default", [torch.zeros(6, dtype=torch.complex64), [0], 0, 4]),
    "grid_of_integers": ("aten.affine_grid_generator.default", [INT([[[1, 0, 2], [0, 1, 2]]]), [1, 1, 3, 1], False]),
    "choice_of_more_steps_than_integers_count": ("quantized_decomposed.choose_qparams.tensor", [torch.rand(3), -(2**31), 2**31 - 1, 1e-6, torch.int32]),
    "hinge_loss_of_bytes": ("aten.hinge_embedding_loss.default", [INT(3, dtype=torch.uint8), INT(0), 1.0, 2]),
    "gradient_of_other_sizes": ("aten._log_softmax_backward_data.default", [torch.rand(1, 2), torch.tensor(0.5), -2, torch.float32]),
    "attention_of_integers": ("aten.scaled_dot_product_attention.default", [INT([[5, 8]]), INT([[0, 5]]), torch.empty(1, 0, dtype=torch.int64)]),
    "grid_padded_in_an_unknown_way": ("aten.grid_sampler_2d.default", [torch.rand(1, 1, 3, 3), torch.rand(1, 2, 2, 2), 2, 2**31 - 1, True]),
    "write_of_more_than_there_is_room_for": ("aten.addbmm_.default", [torch.rand(6, 1), torch.rand(2, 6, 3), torch.rand(2, 3, 2)]),
    "order_without_a_factorial": ("aten.special_polygamma.default", [2**63 - 1, torch.rand(2)]),
    "nearest_by_another_factor_of_a_size_that_stays": ("aten.upsample_nearest1d.default", [torch.rand(1, 1, 3), [3], 1e30]),
    "indices_of_padding_alone": ("aten.max_pool2d_with_indices.default", [torch.rand(1, 1, 2), [2, 1], [2, 1], [1, 0], [2, 3]]),
    "zero_point_that_differences_overflow_at": ("quantized_decomposed.dequantize_per_tensor.default", [INT([4], dtype=torch.int16), 0.5, -(2**31), -2, 1, torch.int16]),
    "instance_norm_without_eps": ("aten.instance_norm.default", [torch.rand(3, 2), None, None, None, None, True, 1.0, 0.0, False]),
    "weight_norm_of_another_rank": ("aten._weight_norm.default", [torch.rand(2, 4, 3), torch.rand(3), 0]),
    "distances_of_empty_rows_of_integers": ("aten._pdist_forward.default", [torch.empty(4, 0, dtype=torch.int16), 2.0]),
    "transform_twice_along_a_dimension": ("aten._fft_r2c.default", [torch.rand(4, 2), [0, 0], 2, True]),
    "range_to_a_complex_number": ("aten.linspace.Scalar_Tensor", [5, torch.tensor(-1 + 2j), 7, torch.complex64]),
    "distances_of_a_negative_order": ("aten._pdist_forward.default", [torch.rand(3, 2), -1.0]),
    "strides_beyond_32_bits": ("aten.conv3d.default", [torch.rand(0, 1, 8, 2, 1), torch.rand(1, 1, 1, 1, 1), None, [2, 3, 1], [0, 2**31, 2], [2, 1, 1]]),
    "dilation_beyond_32_bits": ("aten.im2col.default", [torch.rand(1, 1, 5, 3), [3, 1], [2**63 - 1, 1], [0, 0], [1, 3]]),
    "step_beyond_32_bits": ("aten.unfold_copy.default", [torch.rand(4, 5), 1, 4, 2**63 - 1]),
    "einsum_of_two_types": ("aten.einsum.default", ["ij,jk->ik", [torch.rand(1, 1), INT([[-1]])], None]),
    "weight_norm_by_another_norm": ("aten._weight_norm.default", [torch.rand(3, 2, 4), torch.rand(3, 1, 4), 0]),
    "nearest_by_another_factor": ("aten.upsample_nearest1d.default", [torch.rand(1, 1, 3), [4], 0.5]),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_refused(fault, tmp_path):
    """Calls that torch takes, and that are not well defined."""
    name, values = REFUSED[fault]
    op = torch_op(name)
    arguments = arguments_of(op, values)
    (tmp_path / "m.ir").write_text(Program(op, name, arguments, 0).text([type_text(t) for t in results_of(op, arguments)]))
    outcome, _ = lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte")
    assert outcome == "refused"


def test_choice_of_nan(tmp_path):
    """Quantization that is chosen by a NaN has a scale of NaN, and the process goes on."""
    text = "program\n\nmethod forward(%a: f32[3]) {\n  %s: f64[1], %z: i64[1] = quantized_decomposed.choose_qparams.tensor(%a, 0, 255, 1e-06, .u8)\n  return %s\n}\n"
    (tmp_path / "m.ir").write_text(text)
    assert lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte") is None
    values = torch.tensor([1.0, math.nan, 2.0])
    want = torch.tensor([math.nan], dtype=torch.float64)
    assert run_apart(tmp_path / "m.pte", [([values], lambda got: difference(got[0], want, 0.0))]) == ("ok", "")


@pytest.mark.parametrize("op", ["sqrt", "sin", "cos", "rsqrt"])
def test_halves_in_xnnpack(op, tmp_path):
    text = f"program\n\nmethod forward(%a: f16[4]) {{\n  %r: f16[4] = aten.{op}.default(%a)\n  return %r\n}}\n"
    (tmp_path / "m.ir").write_text(text)
    assert lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte", "xnnpack") is None
    values = torch.tensor([-2.0, 3e4, 0.25, -3e4], dtype=torch.float16)
    want = getattr(torch, op)(values)
    assert run_apart(tmp_path / "m.pte", [([values], lambda got: difference(got[0], want, 1e-3))]) == ("ok", "")


def test_clamp_without_finite_bounds_in_xnnpack(tmp_path):
    text = "program\n\nmethod forward(%a: f32[6]) {\n  %r: f32[6] = aten.clamp.default(%a, -inf)\n  return %r\n}\n"
    (tmp_path / "m.ir").write_text(text)
    assert lower(DEPUTE, tmp_path / "m.ir", tmp_path / "m.pte", "xnnpack") is None
    values = torch.tensor([math.inf, 3.0, -2.5, -math.inf, 1.5, 0.0])
    assert run_apart(tmp_path / "m.pte", [([values], lambda got: difference(got[0], values, 0.0))]) == ("ok", "")


def test_programs_of_one_operator():
    """One program of each operator, in the runtime; under sanitizers a few hundred by the command line, which are only lowered."""
    command = [sys.executable, "tests/one_op/one_op.py", "--first", "0"]
    if "DEPUTE_BIN" in os.environ:
        text = DEPUTE.parent / "tests/text/tool/depute-text"
        command += ["--depute", DEPUTE, "--depute-text", text, "--lower-only", "--count", "300"]
    else:
        command += ["--count", "1000"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr[-2000:]
