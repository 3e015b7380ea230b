"""The suite notices when the code is broken: each mutation of a function makes a named test fail.

A mutation that finds no place any more is an error here, so that the list follows the code. `make mutations` tries all
of them; otherwise those whose file or tests changed since then are tried, and a tenth of the others by turns.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from tests import mutants
from tests.mutants import Mutation

FAILED = 1
"""Pytest's exit code when tests ran and some failed; 2 and above mean that they did not even run."""
TOGETHER = 8
"""Tests that pass without a mutation, in one process, which takes longer to start than most of them."""

FILES_ALIKE = ("tables/test_privacy_of_the_fit.py::test_some_files_of_neighbouring_tables_are_alike",)
CHECKED = "publishing/test_check.py::test_random_broken_and_forged_files_get_the_verdict_of_the_package[seeds0]"
MUTATIONS = {
    "compiling takes the time of a search": Mutation(
        "_StopTheClock.on_start",
        "def on_start(self, event: Any) -> None:\n        SEARCHING.stop()",
        "def on_start(self, event: Any) -> None:\n        SEARCHING.ticks()",
        ("numeric/test_clock.py::test_compiling_takes_none_of_the_time_of_a_search",),
    ),
    "a value that must never be is drawn again among all": Mutation(
        "Obeying._allowed",
        "~np.any(out, axis=0)",
        "np.ones(len(self.parts), dtype=bool)",
        ("model/test_never.py::test_no_row_is_drawn_that_was_declared_never_to_be",),
    ),
    "combinations that leave a column no value are accepted": Mutation(
        "leaves_a_value",
        "if gone.all():",
        "if False:",
        ("model/test_never.py::test_a_column_with_no_value_left_is_found_unless_what_forbids_it_cannot_come_together",),
    ),
    "filled columns have other shares than their own counts": Mutation(
        "raked",
        "np.where(have > LEAST, wanted / np.maximum(have, LEAST), 1.0)",
        "np.where(have > LEAST, 1.0, 1.0)",
        (
            "model/test_model_fitting.py::"
            "test_a_filled_column_has_the_shares_of_its_own_noisy_counts_whatever_its_table_says",
        ),
    ),
    "a rest may break the promise": Mutation(
        "Covering.part",
        "np.minimum(whole, 0.0), np.zeros(len(whole)), upper=1.0)",
        "np.minimum(whole, 0.0), np.full(len(whole), np.inf), upper=1.0)",
        (
            "optimiser/splitting/test_remixing.py::"
            "test_a_rest_holds_its_values_with_the_least_of_others_and_both_parts_keep_the_promise",
        ),
    ),
    "a rest need not keep the promise": Mutation(
        "Master.lend_together",
        "self._lp.add_rows(sparse.csr_array(sparse.hstack([first, A])), upper)",
        "self._lp.add_rows(sparse.csr_array(sparse.hstack([first, A])), np.full(len(upper), np.inf))",
        (
            "optimiser/splitting/test_resting.py::"
            "test_a_mixture_with_a_rest_is_the_best_one_and_each_part_keeps_the_promise",
        ),
    ),
    "a rest that misses the promise is used": Mutation(
        "Resting.mixed",
        "if breaks(A, f):",
        "if False:",
        ("optimiser/splitting/test_resting.py::test_a_rest_that_misses_the_promise_is_refused",),
    ),
    "values that lack posteriors wait for their turn": Mutation(
        "Turns.next",
        "(self._wait < 0) | lacking",
        "self._wait < 0",
        (
            "optimiser/splitting/test_resting.py::"
            "test_values_that_lack_posteriors_are_always_looked_around_and_further_after_some_rounds",
        ),
    ),
    "people of the least pieces are lost": Mutation(
        "no_more_than",
        "for piece in pieces[most - 1 :]:",
        "for piece in pieces[most:]:",
        ("optimiser/splitting/test_resting.py::test_more_pieces_than_values_are_put_together_the_least_ones_first",),
    ),
    "a search that goes on forgets what it knows": Mutation(
        "Splitting._mix",
        "            self._remixing.go_on(_until(state, MIX_SHARE))",
        "            self._pieces = [Piece(np.arange(joint.n_x), joint.p_x)]\n"
        "            self._remixing = Remixing(inside, joint.p_x, joint.entropy, _until(state, MIX_SHARE))",
        ("optimiser/splitting/test_splitting.py::test_a_search_goes_on_where_it_stopped",),
    ),
    "rows that break are not added": Mutation(
        "least",
        "added = add_worst(p.starts, p.places, p.entries, over, FEASIBLE, p.tableau)",
        "added = add_worst(p.starts, p.places, p.entries, over, 1.0, p.tableau)",
        ("optimiser/splitting/test_remixing.py::test_a_program_with_rows_added_as_they_break_is_the_whole_program",),
    ),
    "small entries are rounded down in every output": Mutation(
        "_rounded",
        "np.where(exact[own] < SMALL, np.ceil(exact[own]), units[own])",
        "units[own]",
        ("optimiser/splitting/test_remixing.py::test_small_entries_of_many_people_are_rounded_up_rather_than_lost",),
    ),
    "a group is read as other values": Mutation(
        "Column._look_up",
        "            own += [self.labels.index(group.label)] * len(group.values)",
        "            own += [0] * len(group.values)",
        ("distribution/test_groups.py::test_codes_are_merged_as_rows_are_read",),
    ),
    "who knows columns finely is taken to know them coarsely": Mutation(
        "level_for_finer",
        "    return certify_entries(Entries.of(block.channel).at(inputs), finer, notion).level",
        "    return min(notion.epsilon, certify_entries(Entries.of(block.channel).at(inputs), finer, notion).level)",
        ("advice/test_merging.py::test_the_level_for_finer_people_is_that_of_the_channel_on_fine_values",),
    ),
    "a bound at prices that were not lowered": Mutation(
        "LoweredPrices._stages",
        "y, allowance, begun, is_open = y - first, STAGE_SHARE * self",
        "y, allowance, begun, is_open = y, STAGE_SHARE * self",
        ("optimiser/generation/test_lowered_prices.py::test_bounds_are_told_for_the_prices_that_were_lowered_first",),
    ),
    "pairs of a wide protocol that nobody checks": Mutation(
        "_pairs",
        "doubtful = np.flatnonzero(_doubtful(found, least, most, FEW_ROUNDINGS))",
        "doubtful = np.flatnonzero(found < 0)",
        ("proof/test_wide.py::test_a_pair_beyond_the_border_is_not_certified_by_however_little",),
    ),
    "groups of a wide protocol about three secrets that nobody checks": Mutation(
        "_if_all",
        "if not allowed.allows(told):",
        "if False:",
        ("proof/test_wide_several.py::test_a_group_beyond_a_limit_is_not_certified_by_however_little",),
    ),
    "lists of a noisy model that aim no further inside than groups": Mutation(
        "_redrawing_for",
        "listed_for(notion, lists_aim_at(limits) if noisy",
        "listed_for(notion, aimed_at(limits) if noisy",
        ("tables/test_wide_margin.py::test_lists_of_a_noisy_model_lie_further_inside_than_groups",),
    ),
    "lists of a wide protocol that nobody checks": Mutation(
        "_listed",
        "if not allowed.allows_between(least, [told + len(parts) for told in least]):",
        "if False:",
        ("proof/test_wide_listed.py::test_a_list_beyond_the_border_is_not_certified_by_however_little",),
    ),
    "lists that do not keep the distribution": Mutation(
        "_is_list",
        "bool(different and (plan.alone == 0).all() and (plan.leaving >= 0).all())",
        "True",
        (
            "proof/test_wide_listed.py::"
            "test_a_list_that_does_not_keep_the_distribution_is_not_certified_even_if_it_tells_nothing",
        ),
    ),
    "more released as a value than there is": Mutation(
        "listed_plan",
        "if (plan.rest < 0).any() or (plan.leaving < 0).any():",
        "if (plan.rest < 0).any():",
        ("protocols/test_wide_listed.py::test_a_list_of_more_than_there_is_draws_nothing",),
    ),
    "the group of everything left as it was entered, whatever a list lacks": Mutation(
        "Redrawing.__init__",
        "np.cumsum(plan.leaving)",
        "np.cumsum(plan.rest)",
        ("tables/test_wide.py::test_rows_are_redrawn_as_a_list_says_and_not_otherwise",),
    ),
    "too little noise where columns are left out of a model": Mutation(
        "chosen_columns",
        "each * 2 / SENSITIVITY",
        "each * 2",
        ("tables/test_wide_choosing.py::test_noise_on_scores_and_on_the_secret_is_worth_what_is_spent",),
    ),
    "what is left over to the largest part goes unchecked": Mutation(
        "rounded_pieces",
        "bool((over <= 0).all())",
        "True",
        ("optimiser/splitting/test_splitting.py::test_what_is_left_over_keeps_the_promise_as_well",),
    ),
    "parts of groups that do not add up": Mutation(
        "_flaw_in_division",
        'return "the groups have more of a value than there is" if (plan.alone < 0).any() else None',
        "return None",
        ("proof/test_wide.py::test_groups_that_do_not_divide_the_weights_are_not_certified",),
    ),
    "half the noise where pairs of columns are chosen": Mutation(
        "chosen_pairs",
        "epsilon / number / 2",
        "epsilon / number",
        ("tables/test_wide.py::test_all_noise_together_is_worth_the_epsilon_that_was_given",),
    ),
    "a table of a pair without noise": Mutation(
        "private_marginals",
        "noised_in_part(counted(joint, pair), split.for_pair)",
        "counted(joint, pair)",
        ("tables/test_wide.py::test_every_count_that_is_told_has_noise",),
    ),
    "a table of a single column without noise": Mutation(
        "private_marginals",
        "noised_in_part(counted(joint, (j,)), split.for_single)",
        "counted(joint, (j,))",
        ("tables/test_wide.py::test_every_count_that_is_told_has_noise",),
    ),
    "half the Gaussian noise on a pair": Mutation(
        "gaussian_marginals",
        "gaussian_noised(counted(joint, own), noise.sigma)",
        "gaussian_noised(counted(joint, own), noise.sigma / 2)",
        ("tables/test_wide_all_pairs.py::test_every_pair_has_the_noise_that_its_delta_needs_and_nothing_else_is_told",),
    ),
    "half the Gaussian noise by OpenDP": Mutation(
        "gaussian_noised",
        "gaussian = _gaussian(sigma)",
        "gaussian = _gaussian(sigma / 2)",
        ("drawing/test_gaussian.py::test_noise_has_the_sigma_that_was_asked_for_and_no_other",),
    ),
    "a delta of the model that forgets the rows": Mutation(
        "needed_delta",
        "there * (1 + back)",
        "there",
        (
            "distribution/test_gaussian.py::"
            "test_noise_grows_as_the_root_of_the_tables_and_never_falls_below_what_is_proven",
        ),
    ),
    "a delta rounded downwards": Mutation(
        "delta_of",
        "(last + 0.5) / s",
        "last / s",
        ("distribution/test_gaussian.py::test_delta_is_that_of_all_noise_summed_up_and_a_little_more",),
    ),
    "a file whose noise is too small for its delta": Mutation(
        "check_tables",
        "not noise.kept(epsilon, level)",
        "False",
        ("protocols/test_wide.py::test_noise_that_does_not_have_what_the_file_says_is_refused_in_a_line",),
    ),
    "a model that follows from other tables": Mutation(
        "_flaw_in_model",
        "return None if same else OTHER_MODEL",
        "return None",
        ("proof/test_wide_file.py::test_a_factor_that_is_off_by_more_than_machines_are_is_another_model",),
    ),
    "a larger sigma than tables have": Mutation(
        "flaw_in_noise",
        "return SMALLER if any(",
        "return None if any(",
        ("proof/test_wide_file.py::test_gaussian_noise_cannot_be_restated",),
    ),
    "tables of other people": Mutation(
        "_intervals_meet",
        "if (low > high).any():",
        "if False:",
        ("proof/test_table_noise.py::test_tables_of_other_people_are_not_believed",),
    ),
    "a file without all pairs of its columns": Mutation(
        "check_drawn",
        "elif drawn != every:",
        "elif False:",
        ("protocols/test_wide.py::test_a_model_without_what_its_columns_need_is_refused_in_a_line",),
    ),
    "noise in factors of a wide model that is not taken out": Mutation(
        "_Table.improve",
        "(self.y - e) * e / self.v - ridge",
        "(self.y - e) * e / self.v",
        ("tables/test_wide.py::test_steps_in_a_table_end_where_factors_are_likeliest",),
    ),
    "what a pair moves one way only": Mutation(
        "moves_of",
        "joint.reshape(cells, cells) + joint.reshape(cells, cells).T",
        "2 * joint.reshape(cells, cells)",
        ("estimates/test_wide.py::test_what_becomes_of_some_columns_is_that_of_all_summed_up",),
    ),
    "noise of a column's counts that is said to be half as much": Mutation(
        "_of",
        "ColumnCounts(tuple(np.rint(mean).astype(int).tolist()), 1 / weight + ROUNDED)",
        "ColumnCounts(tuple(np.rint(mean).astype(int).tolist()), 0.5 / weight)",
        ("estimates/test_wide.py::test_counts_of_a_column_weigh_its_tables_by_their_noise",),
    ),
    "rows of another number taken for those fitted on": Mutation(
        "WideMeters.check",
        "if self.rows != self.protocol.people:",
        "if self.rows < 0:",
        ("estimates/test_wide.py::test_other_rows_are_not_told",),
    ),
    "partners drawn as often as not": Mutation(
        "Redrawing.drawn_by",
        ">= self._own[group]",
        ">= self._others[group]",
        ("tables/test_wide.py::test_rows_are_redrawn_with_the_probabilities_of_the_plan_and_not_with_others",),
    ),
    "noise on cells that are not empty only": Mutation(
        "noise_everywhere",
        "noisy = noised(counts, epsilon)",
        "noisy = np.where(counts > 0, noised(counts, epsilon), 0)",
        FILES_ALIKE,
    ),
    "one exact number in the file": Mutation(
        "noise_everywhere",
        "noisy = noised(counts, epsilon)",
        "noisy = noised(counts, epsilon); noisy[0, 0] = counts[0, 0]",
        FILES_ALIKE,
    ),
    "borders from the data, whatever is declared": Mutation(
        "count_table",
        "if domain is not None:  # the table is read once, to be counted",
        "if False:",
        FILES_ALIKE,
    ),
    "exact fits published": Mutation(
        "check_protocol",
        'if one.fitted == "exact counts":',
        "if False:",
        ("publishing/test_publish.py::test_an_exact_fit_is_refused",),
    ),
    "columns published that no protocol released": Mutation(
        "belonging",
        "extra = [name for name in source.columns if name not in protocol_here.table_columns]",
        "extra: list[str] = []",
        ("publishing/test_publish.py::test_other_columns_and_other_values_are_refused",),
    ),
    "rows published that were drawn with a seed": Mutation(
        "_check_metadata",
        'if str(told.get("randomness", "")).startswith("INSECURE"):',
        "if False:",
        ("publishing/test_publish.py::test_a_table_drawn_by_another_protocol_or_with_a_seed_is_refused",),
    ),
    "rows published under another protocol": Mutation(
        "_check_metadata",
        'if told.get("protocol") not in (None, digest_of(protocol)):',
        "if False:",
        ("publishing/test_publish.py::test_a_table_drawn_by_another_protocol_or_with_a_seed_is_refused",),
    ),
    "somebody else's folder replaced": Mutation(
        "check_folder",
        "    if strange:\n",
        "    if False:\n",
        ("publishing/test_publish.py::test_an_existing_folder_needs_force_and_only_our_own_is_ever_replaced",),
    ),
    "a run that goes on after a broken promise": Mutation(
        "_do",
        "    if code:\n",
        "    if False:\n",
        ("recipes/test_run.py::test_a_promise_that_is_broken_ends_the_run_with_nothing",),
    ),
    "half the noise": Mutation(
        "",
        "CHANGED = 2\n",
        "CHANGED = 1\n",
        ("drawing/test_laplace.py::test_noise_has_the_scale_two_over_epsilon_and_no_other",),
    ),
    "choosing columns for nothing": Mutation(
        "Protocol.spent",
        "Spent(self.noise.spent, self.noise.delta",
        "Spent(self.noise.epsilon, self.noise.delta",
        ("advice/test_choosing.py::test_a_private_choice_spends_what_it_says_and_the_counts_the_rest",),
    ),
    "a column chosen with less noise than it takes": Mutation(
        "PrivateDraws.__call__",
        "self.epsilon / MOST_DRAWS",
        "self.epsilon",
        ("advice/test_choosing.py::test_draws_divide_epsilon_and_end",),
    ),
    "room for columns that looks at people": Mutation(
        "accepted",
        "room_for_people(people) if private is None",
        "room_for_people(people) if True",
        (
            "advice/test_choosing.py::test_coarsening_alone_goes_by_the_numbers_of_values_and_says_when_it_is_not_enough",
        ),
    ),
    "texts of a declared column merged by who has them": Mutation(
        "levels",
        "[] if declared else",
        "[] if False else",
        ("advice/test_levels.py::test_texts_of_a_declared_column_are_not_chosen_by_how_many_people_have_them",),
    ),
    "models that forget how rows were drawn": Mutation(
        "_Counted.covariance",
        "/ self.rows + _drawing(meter, h)",
        "/ self.rows",
        ("estimates/models/test_regress.py::test_errors_that_forget_the_drawing_are_too_small",),
    ),
    "rare outputs count as often as they were seen": Mutation(
        "_WorkedBack.covariance",
        "common + seen + _lacking(seen, expected)",
        "common + seen",
        ("estimates/test_rare_outputs.py::test_outputs_that_are_missing_by_luck_are_in_the_errors_all_the_same",),
    ),
    "a private fit of the few people who stand out": Mutation(
        "_check_told",
        "if share < LEAST_TOLD:",
        "if share < 0:",
        ("tables/test_private_counts_told.py::test_a_fit_of_a_few_people_is_refused_with_how_many_they_are",),
    ),
    "a figure for the steward alone decides whether a fit fails": Mutation(
        "ForSteward.told",
        "except Exception:",
        "except MemoryError:",
        (
            "cli/test_replayed_noise.py::"
            "test_what_only_the_steward_is_told_decides_nothing[for machines-cli.wide_own.checked_on]",
        ),
    ),
    "whether anybody has a value of the secret decides whether there is a file": Mutation(
        "check_wide",
        "if len(values) != 1 or not",
        "if len(values) != 1 or values != [joint.n_s] or not",
        ("cli/test_replayed_noise.py::test_the_same_noisy_counts_end_in_the_same_file[a model of one column]",),
    ),
    "a search that the exact counts reach": Mutation(
        "fit_spec",
        "chosen = _modelled_or_chosen(spec, _exact(spec, table)",
        "exact = _exact(spec, table); chosen = _modelled_or_chosen(spec, exact",
        (
            "cli/test_replayed_noise.py::"
            "test_what_follows_the_noise_has_no_exact_counts_at_hand[cli.searching.optimise_inside-watched1-options1]",
        ),
    ),
    "an audit that believes the file": Mutation(
        "_certify_on_counts",
        "return certify(protocol, joint.before_gathering or joint, notion)",
        "return certify(protocol, joint.before_gathering or joint, protocol.notion.at(50.0))",
        ("proof/test_public.py::test_a_channel_that_does_not_follow_from_the_counts_fails",),
    ),
    "an audit that looks at some values only": Mutation(
        "_checked_alone",
        "    _check_values(protocol, joint)\n",
        "",
        ("proof/test_public.py::test_a_forged_file_does_not_pass",),
    ),
    "an audit that takes any noise for what is stated": Mutation(
        "_checked_alone",
        "check_stated_noise(joint.noise)",
        "pass",
        ("attacked/test_forged_files.py::test_forged_files_are_not_said_to_be_kept_nor_made_pages_of",),
    ),
    "an audit of people whom the release before does not know": Mutation(
        "_check_followed",
        "if protocol.before is not None and Past(protocol.before, people).strangers():",
        "if False:",
        ("attacked/test_forged_files.py::test_forged_files_are_not_said_to_be_kept_nor_made_pages_of",),
    ),
    "an audit that looks at the last release only": Mutation(
        "checked_joint",
        "for before in protocol.earlier:",
        "for before in ():",
        ("attacked/test_forged_files.py::test_forged_files_are_not_said_to_be_kept_nor_made_pages_of",),
    ),
    "a missing truth that is released as one": Mutation(
        "_held",
        "return column if column.null_count() == drawn.null_count else None",
        "return column",
        ("tables/test_frames.py::test_values_drawn_are_those_written_whatever_the_types_of_a_frame_hold",),
    ),
    "noise that a confidence does not know of": Mutation(
        "Between.of",
        "most = largest_noise(cells, scale, tail)",
        "most = np.zeros(np.shape(cells))",
        ("promises/test_noisy_bounds.py::test_counts_are_never_below_nothing",),
    ),
    "borders and values from the table in spite of a domain": Mutation(
        "count_table",
        "_declared_secrets(domain, secrets), _declared(domain, attributes)",
        "_declared_secrets(domain, secrets), fit_columns(source, attributes, wishes)",
        ("tables/test_domain.py::test_whoever_is_in_the_table_the_columns_are_those_declared",),
    ),
    "values of the secret from the table in spite of a domain": Mutation(
        "count_table",
        "_declared_secrets(domain, secrets), _declared(domain, attributes)",
        "fit_columns(source, secrets, wishes, secret=True), _declared(domain, attributes)",
        ("tables/test_domain.py::test_whoever_is_in_the_table_the_columns_are_those_declared",),
    ),
    "triangles around a corner that are passed over": Mutation(
        "_sweep",
        "angle[high] <= angle[j] + math.pi + turned",
        "angle[high] <= angle[j] + math.pi / 2 + turned",
        ("optimiser/test_corners.py::test_no_posterior_costs_less_than_a_sweep_says_of_any_of_its_values",),
    ),
    "prices that fall too little for a bound": Mutation(
        "State.bounded",
        "less @ self.p_x",
        "0.5 * less @ self.p_x",
        ("optimiser/test_corners.py::test_prices_that_fall_by_what_their_values_lack_bound_as_well",),
    ),
    "a certificate that looks at the first secret only": Mutation(
        "certify_entries",
        "for clause in notion.clauses(joint):",
        "for clause in notion.clauses(joint)[:1]:",
        ("promises/test_clauses.py::test_no_channel_past_a_limit_is_certified[several]",),
    ),
    "a limit on belief that is not what was typed": Mutation(
        "bound_of",
        "return clause.most * Fraction(",
        "return clause.most * Fraction(11, 10) * Fraction(",
        ("promises/test_clauses.py::test_a_belief_is_compared_with_the_number_that_was_typed",),
    ),
    "a name for several values that is taken for one of them": Mutation(
        "places_of",
        "if len(alike) > 1 and",
        "if len(alike) > 9 and",
        ("promises/test_names.py::test_a_text_that_several_values_are_written_as_names_none_of_them",),
    ),
    "a ledger in which a limit on belief counts for nothing": Mutation(
        "promised",
        "if own.beliefs_limited:",
        "if False:",
        ("tables/remembered/test_remember.py::test_the_level_of_a_limit_on_belief_is_a_belief_and_not_nothing[1.0]",),
    ),
    "limits that are said to follow from those of other attackers": Mutation(
        "_Said.follows_from",
        "one.views == self.views and",
        "True and",
        ("promises/test_clauses.py::test_only_what_follows_is_left_out_of_the_rows",),
    ),
    "promises that a file gives to other secrets": Mutation(
        "_check_secrets",
        "if isinstance(plain, Promises) and read and",
        "if isinstance(plain, Promises) and not read and",
        ("promises/test_names.py::test_a_file_that_gives_one_secret_the_promise_of_another_is_refused",),
    ),
    "an exact column that nobody checks in a file": Mutation(
        "block_in",
        "or not found.stays_exact()",
        "or False",
        ("optimiser/test_exact_columns.py::test_a_file_whose_exact_column_does_not_stay_exact_is_refused",),
    ),
    "e^ε rounded up": Mutation(
        "e_to",
        "value * (1 - Fraction(1, 10 ** (PRECISION - 1)))",
        "value * (1 + Fraction(1, 10 ** (PRECISION - 1)))",
        ("proof/test_certificate.py::test_e_to_epsilon_is_from_below_and_closer_than_fifty_digits",),
    ),
    "levels rounded down": Mutation(
        "log_above",
        "return value + LOG_ERRORS * math.ulp(spare)",
        "return value - LOG_ERRORS * math.ulp(spare)",
        ("proof/test_certificate.py::test_logarithms_are_rounded_up_by_less_than_1e_12",),
    ),
    "lower and upper bound swapped in the certificate": Mutation(
        "Lifts.ratios",
        '("lower", self.falls(some)), ("upper", self.rises(some))',
        '("lower", self.rises(some)), ("upper", self.falls(some))',
        ("proof/test_certificate.py::test_a_secret_that_is_ruled_out_breaks_ldp_and_lip_but_not_pml",),
    ),
    "lower and upper bound swapped in the optimiser's rows": Mutation(
        "Limits.parts",
        "lift, excess, possible = _lifts(joint, view)\n        for s in range",
        "self = Limits(self.upper, self.lower, self.spread)\n"
        "        lift, excess, possible = _lifts(joint, view)\n        for s in range",
        ("promises/test_notions.py::test_a_posterior_meets_the_rows_exactly_when_it_keeps_the_promise",),
    ),
    "a channel transposed when it is read": Mutation(
        "Channel.from_numerators",
        "return cls.from_entries(inputs, outputs, numerators.T[inputs, outputs], numerators.shape)",
        "return cls.from_entries(outputs, inputs, numerators.T[inputs, outputs], numerators.shape[::-1])",
        ("proof/test_certificate.py::test_the_worst_place_of_a_channel_known_by_hand",),
    ),
    "a channel transposed when it is drawn from": Mutation(
        "AliasTables.of",
        "_fill_buckets(channel.starts, channel.outputs, channel.numerators, first,",
        "_fill_buckets(channel.starts, channel.inputs, channel.numerators, first,",
        ("drawing/test_kernel.py::test_a_fair_coin_has_two_full_buckets",),
    ),
    "an alias table biased by one word in 2³²": Mutation(
        "_fill_buckets",
        "cuts[bucket + poor] = poor * size + rest[poor]",
        "cuts[bucket + poor] = poor * size + rest[poor] + 1",
        ("drawing/test_kernel.py::test_three_quarters_against_one_share_a_bucket",),
    ),
    "a cut that gives its own word to the wrong output": Mutation(
        "_output",
        "np.uint64(word >= cuts[bucket])",
        "np.uint64(word > cuts[bucket])",
        ("drawing/test_kernel.py::test_the_words_on_both_sides_of_a_cut_draw_different_outputs",),
    ),
    "a shuffle that favours some rows": Mutation(
        "_shuffle",
        "if remainder < m and remainder < np.uint64(UNIT) % m:",
        "if False:",
        ("drawing/test_randomness.py::test_a_word_that_would_favour_a_row_is_refused",),
    ),
    "a key that everybody knows": Mutation(
        "Randomness.secure",
        "return cls(os.urandom(KEY_BYTES), seed=None, repeats=False)",
        "return cls(bytes(KEY_BYTES), seed=None, repeats=False)",
        ("drawing/test_randomness.py::test_two_secure_streams_differ",),
    ),
    "a fork that repeats its parent's stream": Mutation(
        "Randomness.fill",
        "if not self._repeats and self._owner != _process():",
        "if False:",
        ("drawing/test_randomness.py::test_a_forked_child_does_not_repeat_its_parents_stream",),
    ),
    "a release with a fixed seed": Mutation(
        "release_rows",
        "randomness = Randomness.secure() if seed is None else Randomness.seeded(seed)",
        "randomness = Randomness.seeded(seed or 0)",
        ("tables/test_release.py::test_two_secure_releases_differ_and_do_not_say_insecure",),
    ),
    "the largest set of known attributes skipped": Mutation(
        "families",
        "for size in range(min(most, len(usable)) + 1) for J",
        "for size in range(min(most, len(usable))) for J",
        ("optimiser/test_side_channels.py::test_the_level_is_that_of_the_definition",),
    ),
    "the attacker who knows nothing skipped": Mutation(
        "families",
        "for size in range(min(most, len(usable)) + 1) for J",
        "for size in range(1, min(most, len(usable)) + 1) for J",
        ("optimiser/test_side_channels.py::test_who_knows_nothing_beforehand_is_guarded_against_too",),
    ),
    "a number on a bin's edge put into the bin below": Mutation(
        "Column._bin",
        'np.searchsorted(edges, numbers, side="right") - 1',
        'np.searchsorted(edges, numbers, side="left") - 1',
        ("distribution/test_column.py::test_given_edges_cut_at_the_edges_and_the_last_bin_is_closed",),
    ),
    "the last bin left open": Mutation(
        "Column._bin",
        "(numbers <= edges[-1])",
        "(numbers < edges[-1])",
        ("distribution/test_column.py::test_given_edges_cut_at_the_edges_and_the_last_bin_is_closed",),
    ),
    "estimates from the transposed channel": Mutation(
        "_dense",
        'lu.solve(ell.T, trans="T").T',
        "lu.solve(ell.T).T",
        ("estimates/test_estimates.py::test_shares_of_a_pair_are_those_that_the_inverse_of_the_channel_gives",),
    ),
    "a most likely distribution from the transposed channel": Mutation(
        "_Model.__init__",
        "self._Q, self._back = f, f > 0, Q, Q.T.tocsr()",
        "self._Q, self._back = f, f > 0, Q, Q",
        ("estimates/test_estimates.py::test_the_transposed_channel_would_not_do",),
    ),
    "a published marginal that can be solved for the counts": Mutation(
        "coarse_marginal",
        "np.maximum(1, np.rint(np.sqrt(n * q / q.sum()))) ** 2",
        "q",
        ("protocols/test_file.py::test_the_published_marginal_tells_shares_and_not_the_counts",),
    ),
    "strangers drawn from the coarse marginal": Mutation(
        "finished",
        "draw=simple_draw(room, block.marginal)",
        "draw=block.marginal",
        ("proof/test_unseen.py::test_the_coarse_marginal_did_not_keep_it",),
    ),
    "a certificate that does not look at draws": Mutation(
        "_with_draws",
        "if room_of(protocol, joint).holds(protocol.draw):",
        "if True:",
        ("proof/test_unseen.py::test_outside_of_the_room_some_strangers_break_the_promise",),
    ),
    "limits on draws that forget P(y)": Mutation(
        "_counted",
        "    limits.overall(output[real], all_given[real], all_given[real], all_prior[real])\n",
        "",
        ("proof/test_unseen.py::test_the_room_is_what_the_theorem_says",),
    ),
    "a draw allowed where nobody in a cell has the output": Mutation(
        "_counted",
        "limits.most[met < view.n_cells] = 0",
        "pass",
        ("proof/test_unseen.py::test_a_new_value_would_break_a_promise_about_side_channels_so_it_is_refused",),
    ),
    "utility and entropy published in full": Mutation(
        "content_of",
        "told = published(protocol)",
        "told = protocol",
        ("protocols/test_file.py::test_utility_bound_and_entropy_are_published_as_precisely_as_the_people_support",),
    ),
    "the same key for every partition": Mutation(
        "partition_key",
        'partition.to_bytes(8, "big") + content',
        "content",
        ("tables/spark/test_spark.py::test_the_key_of_a_partition_depends_on_who_is_in_it_and_not_on_their_order",),
    ),
    "the same key for other people in a partition": Mutation(
        "partition_key",
        'partition.to_bytes(8, "big") + content',
        'partition.to_bytes(8, "big")',
        ("tables/spark/test_spark.py::test_the_key_of_a_partition_depends_on_who_is_in_it_and_not_on_their_order",),
    ),
    "the ends of intervals swapped in the worst case of a mean": Mutation(
        "OneOutput._mean",
        'values = list(self.least if kind == "upper" else self.most)',
        'values = list(self.most if kind == "upper" else self.least)',
        ("optimiser/robust/test_robust.py::test_the_level_over_the_set_is_the_worst_of_all_its_corners",),
    ),
    "the ends of intervals swapped in the worst case of two secrets": Mutation(
        "OneOutput.extreme",
        "Extreme(self.most[s], self.least[t], s, t)",
        "Extreme(self.least[s], self.most[t], s, t)",
        ("optimiser/robust/test_robust.py::test_the_level_over_the_set_is_the_worst_of_all_its_corners",),
    ),
    "ends of intervals rounded inwards": Mutation(
        "_down",
        "np.floor(np.ldexp(p, SCALE_BITS) * (1 - OUTWARDS))",
        "np.floor(np.ldexp(p, SCALE_BITS) * (1 + OUTWARDS))",
        ("promises/test_confidence.py::test_ends_are_rounded_outwards",),
    ),
    "a belief over a set that takes the counts' share for the worst": Mutation(
        "OneOutput.belief",
        "[s, *others])",
        "[*others, s])",
        ("promises/test_population_clauses.py::test_a_belief_for_the_population_by_hand",),
    ),
    "several secrets that each have the whole doubt": Mutation(
        "Robust.possible_clauses",
        " / len({_told_apart(clause) for clause in clauses})",
        "",
        ("promises/test_population_clauses.py::test_every_secret_has_the_set_of_its_own_counts",),
    ),
    "events with the noise of a single count": Mutation(
        "Noisy.of",
        "real * noise.terms[:, None]",
        "real * 1",
        ("promises/test_population_clauses.py::test_noises_of_events_are_sums_of_noises",),
    ),
    "a limit on belief that the population may exceed": Mutation(
        "_count_belief",
        "multiple <= bound)",
        "multiple <= 2 * bound)",
        ("promises/test_population_clauses.py::test_no_channel_past_a_limit_for_the_population_is_certified[belief]",),
    ),
    "multipliers that are paid the wrong ends": Mutation(
        "_Program.most",
        "np.where(multipliers > 0, self._upper, self._lower)",
        "np.where(multipliers > 0, self._lower, self._upper)",
        ("proof/test_multipliers.py::test_bounds_are_those_of_linear_programs_in_fractions",),
    ),
    "multipliers that do not add up to the row": Mutation(
        "_Program.most",
        "left = left - multipliers[start:stop][of]",
        "left = left + 0 * multipliers[start:stop][of]",
        ("proof/test_multipliers.py::test_bounds_are_those_of_linear_programs_in_fractions",),
    ),
    "sorting that forgets how much there is to give": Mutation(
        "_Level.most_by_cells",
        "left -= more",
        "left -= 2 * more",
        ("proof/test_multipliers.py::test_bounds_from_single_cells_are_bounds_as_well",),
    ),
    "tables that each have the whole doubt": Mutation(
        "_nested_set",
        "share = doubt / sum(len(tables) + 1 for tables in over)",
        "share = doubt / 2",
        ("promises/test_nested.py::test_the_doubts_of_all_statements_together_are_at_most_what_the_confidence_leaves",),
    ),
    "a marginal error that forgets a value": Mutation(
        "marginal_error",
        "np.abs(released - weights * UNIT).max()",
        "np.abs(released - weights * UNIT)[1:].max()",
        ("optimiser/faithful/test_faithful.py::test_the_promise_and_the_distribution_are_kept_exactly",),
    ),
    "a column of the table taken for what was released before": Mutation(
        "check_no_history",
        "if follow_up.by_history.history in columns:",
        "if False:",
        ("tables/test_following.py::test_a_column_of_the_table_is_never_taken_for_what_was_released",),
    ),
    "a follow-up about another secret": Mutation(
        "about_the_same",
        "return all(reading in readings for reading in before.secret_readings)",
        "return True",
        ("tables/test_following.py::test_a_follow_up_reads_the_secret_as_it_was_read_before",),
    ),
    "levels computed on a part of the people": Mutation(
        "Levels._joint",
        "if joint.total < MOST_OF * fitted:",
        "if False:",
        ("tables/remembered/test_remember.py::test_a_limit_cannot_be_passed_part_by_part",),
    ),
    "published rows in the order of the table": Mutation(
        "_write_table",
        "for y in shuffled(_outputs(protocol, source), Randomness.secure()):",
        "for y in _outputs(protocol, source):",
        ("publishing/test_publish.py::test_published_rows_have_an_order_of_their_own",),
    ),
    "a channel with a wrong released marginal let through": Mutation(
        "Task.exact",
        "if marginal_error(channel, self.mean) <= MARGINAL_ERROR and self._kept(channel):",
        "if self._kept(channel):",
        (
            "optimiser/faithful/test_faithful.py"
            "::test_an_exact_channel_that_keeps_the_promise_and_not_the_distribution_is_not_returned",
        ),
    ),
    "a plan rounded without balancing its marginals": Mutation(
        "scaled",
        "for _ in range(SCALINGS):",
        "for _ in range(0):",
        ("optimiser/faithful/test_faithful.py::test_a_plan_that_is_a_little_off_is_balanced_before_it_is_rounded",),
    ),
    "a plan transposed when it becomes a channel": Mutation(
        "_balanced",
        "o, x = np.divmod(plan.keys[big], n)",
        "x, o = np.divmod(plan.keys[big], n)",
        ("optimiser/faithful/test_faithful.py::test_a_plan_is_read_with_its_axes_in_order",),
    ),
    "a similarity with swapped axes": Mutation(
        "price_outputs",
        "steps, x, o) - worth[o] - charge[i, x]",
        "steps, x, o) - worth[x] - charge[i, x]",
        ("optimiser/faithful/test_faithful.py::test_compiled_pricing_sees_the_same_similarity_with_the_same_axes",),
    ),
    "a similarity with weights and steps swapped": Mutation(
        "Similarity.at",
        "for j, (weight, step) in enumerate(zip(self.weights, self.steps, strict=True)):\n            i, k",
        "for j, (step, weight) in enumerate(zip(self.weights, self.steps, strict=True)):\n            i, k",
        ("optimiser/faithful/test_faithful.py::test_equal_columns_count_their_weight_and_ranges_their_nearness",),
    ),
    "a redraw from the channel instead of the posterior": Mutation(
        "_redraw",
        "back = csr_array(Q * p / (Q @ p)[:, None])",
        "back = csr_array(Q / Q.sum(axis=1)[:, None])",
        ("optimiser/test_countable.py::test_rows_are_redrawn_from_the_posterior_of_what_was_told",),
    ),
    "a changed protocol taken for the original": Mutation(
        "check_unchanged",
        "unchanged = digest == digest_of_content(rest) and text ==",
        "unchanged = text ==",
        ("protocols/test_file.py::test_every_changed_digit_is_refused",),
    ),
    "what was released before left out of the exact check": Mutation(
        "_one_history",
        "own.numerators.astype(object) * numerators[known][own.inputs]",
        "own.numerators.astype(object) * 1",
        ("optimiser/test_follow_up.py::test_the_certified_level_is_that_of_brute_force",),
    ),
    "a follow-up to a release that breaks its promise": Mutation(
        "_Task.of",
        "if not before.holds:",
        "if before is None:",
        ("optimiser/test_follow_up.py::test_a_weaker_first_release_cannot_be_followed_by_a_stricter_promise",),
    ),
    "a follow-up that takes the prior for what is left": Mutation(
        "_Task._problem",
        "return self.problems[i].given(values, own.p_x)",
        "return self.problems[i].given(values, self.each.joint.p_x[values] / self.each.joint.p_x[values].sum())",
        (
            "optimiser/test_follow_up.py"
            "::test_fresh_releases_that_keep_the_promise_together_tell_no_more_than_the_follow_up",
        ),
    ),
    "a follow-up drawn with the key whatever was released before": Mutation(
        "Histories.numbers",
        "return np.where(known, self._number[place], -1)",
        "return np.where(known, 0, -1)",
        (
            "tables/remembered/test_following_again.py"
            "::test_a_draw_is_a_function_of_key_person_values_and_earlier_outputs",
        ),
    ),
    "a follow-up among other releases that leaves out what it follows": Mutation(
        "_Outcomes._follow",
        "numerators = entries.numerators[old] * own.numerators.astype(object)",
        "numerators = own.numerators.astype(object)",
        (
            "proof/test_together.py"
            "::test_the_level_of_follow_ups_among_other_releases_is_that_of_brute_force_in_fractions",
        ),
    ),
    "a rare combination of a follow-up is drawn as something else than it is read as": Mutation(
        "PairSanitiser._read",
        "found[rows] = self._steps.inputs(read.of(rows), h)",
        "found[rows] = int(self._steps.starts[h])",
        (
            "tables/test_drawn_is_certified.py::"
            "test_everybody_who_can_come_is_drawn_from_the_certified_column[a follow-up of exact counts]",
        ),
    ),
    "a rare combination is drawn as something else than it is read as": Mutation(
        "Sanitiser._read",
        "return self.protocol.block.read(codes)",
        "return np.zeros(len(codes), dtype=np.int64)",
        (
            "tables/test_drawn_is_certified.py::"
            "test_everybody_who_can_come_is_drawn_from_the_certified_column[exact counts]",
        ),
    ),
    "a text that meant missing is read as a value": Mutation(
        "_check_missing",
        "if ((own != UNSEEN) & (found[own] != then)).any():",
        "if False:",
        ("distribution/test_refinement.py::test_an_entry_is_read_from_a_finer_column_as_the_earlier_one_reads_it",),
    ),
    "numbers are read as the others among texts": Mutation(
        "_others_alike",
        'return same or (fine.kind, coarse.kind) == ("integer", "number") or not (coarse.other or coarse.groups)',
        "return True",
        ("distribution/test_refinement.py::test_numbers_that_were_texts_among_others_are_refused",),
    ),
    "people whose values of then are not known are followed up": Mutation(
        "check_all_known",
        "if unknown:",
        "if False:",
        ("tables/test_changes.py::test_who_was_released_and_is_in_no_table_of_then_is_refused_with_the_number",),
    ),
    "people with rare values are counted as what they are read as": Mutation(
        "rows_kept",
        "same = rows.of_people(steps.columns, steps.read_in(joint).codes)",
        "same = rows.unchanged[steps.read_in(joint).values]",
        (
            "tables/test_changes.py::"
            "test_who_keeps_their_row_is_counted_for_people_and_not_for_what_rare_combinations_are_read_as",
        ),
    ),
    "people followed up who changed since": Mutation(
        "FollowingDrawer._draw",
        "return np.hstack([past, y]), mark ^ own",
        "return np.hstack([past, y]), mark & own & np.uint64(0)",
        (
            "tables/remembered/test_following_again.py"
            "::test_a_draw_is_a_function_of_key_person_values_and_earlier_outputs",
        ),
    ),
    "old values that are taken for today's": Mutation(
        "joined.valued",
        "CASE WHEN r{i}.who IS NULL THEN {value} ELSE r{i}.t{k} END",
        "CASE WHEN r{i}.who IS NULL THEN {value} ELSE {value} END",
        ("tables/test_changes.py::test_old_and_new_values_stand_side_by_side_in_the_order_of_today",),
    ),
    "unchanged people whose row says something else": Mutation(
        "EachHistory._keeping",
        "written[stay] = row",
        "row = 0",
        (
            "optimiser/test_keeping.py"
            "::test_changes_that_have_nothing_to_do_with_the_secret_are_all_followed_up_without_a_cover",
        ),
    ),
    "rows that stay counted for everybody": Mutation(
        "rows_kept",
        "stay += past.numerators((*history, int(rows.row[h]))) * weights",
        "stay += before.numerators(history) * weights * UNIT",
        ("optimiser/test_keeping.py::test_everything_together_keeps_the_promise_in_fractions",),
    ),
    "a row drawn for another history": Mutation(
        "with_histories",
        'pa.table({**known, "h": np.arange(len(steps.histories))})',
        'pa.table({**known, "h": np.arange(len(steps.histories))[::-1]})',
        ("tables/test_following.py::test_rows_are_drawn_from_the_channel_of_their_history",),
    ),
    "people with a history that nobody fitted": Mutation(
        "_check_people",
        "if known < rows:",
        "if known < 0:",
        ("tables/test_following.py::test_a_history_that_was_not_fitted_is_refused_with_the_number_of_people",),
    ),
    "a follow-up that follows nothing": Mutation(
        "_step",
        'if (before is not None) != (found.step == "by_history"):',
        "if False:",
        ("protocols/test_follow_up_file.py::test_parts_that_do_not_fit_are_refused_in_a_line",),
    ),
    "check.py rounds e^ε up": Mutation(
        "e_below",
        "total = total * total >> BITS",
        "total = (total * total >> BITS) + 2**100",
        ("publishing/test_check.py::test_the_bound_of_e_to_the_epsilon_is_below_it_and_near",),
    ),
    "check.py lets beliefs fall": Mutation(
        "Clause.ratios",
        'return lifts if kind == "rise" else [(under, over) for over, under in lifts]',
        "return lifts",
        (CHECKED,),
    ),
    "check.py forgets who knows columns": Mutation(
        "known_by",
        "sizes = range(min(most, len(usable)) + 1)",
        "sizes = range(1)",
        (CHECKED,),
    ),
    "check.py reads the nearest by another rule": Mutation(
        "reader.read",
        "score = [own + rare for own, rare in zip(alike, rarity, strict=True)]",
        "score = list(alike)",
        ("publishing/test_check.py::test_what_is_nearest_is_that_of_the_package",),
    ),
    "check.py takes any values": Mutation(
        "people_of",
        'need(follow == sorted(map(tuple, step["values"])),',
        "need(True,",
        (CHECKED,),
    ),
    "check.py takes any draw for values never seen": Mutation(
        "draw_fits",
        "return False",
        "return True",
        (CHECKED,),
    ),
    "check.py takes secrets that noise hides as counted": Mutation(
        "counted",
        "if not faint:",
        "if True:",
        (CHECKED,),
    ),
    "check.py takes counts of any noise": Mutation(
        "check_noise",
        'k, scale = len(counts), 2 / noise["epsilon"]',
        "return",
        ("publishing/test_check.py::test_counts_that_no_noise_of_the_stated_size_makes_are_refused",),
    ),
    "check.py looks at the counts of the last release only": Mutation(
        "check",
        'people = [people_of(one) for one in files if one["noise"] is not None][-1]',
        "people = people_of(file)",
        ("publishing/test_check.py::test_every_forged_file_gets_the_verdict_of_the_package[by_history]",),
    ),
    "check.py forgets what was released before": Mutation(
        "drawn",
        "found.setdefault((*history, y), {})[r] = weight * q",
        "found.setdefault((*history, y), {})[r] = q",
        ("publishing/test_check.py::test_random_follow_ups_get_the_verdict_of_the_package[seeds0]",),
    ),
    "check.py takes a changed file": Mutation(
        "releases",
        """need(file["digest"] == f"sha256:{hashlib.sha256(own).hexdigest()}",""",
        "need(True,",
        ("publishing/test_check.py::test_a_changed_digit_is_refused",),
    ),
}

CHOSEN = mutants.chosen(MUTATIONS, everything=os.environ.get("MUTATIONS") == "all")
THEIR_TESTS = sorted({test for name in CHOSEN for test in MUTATIONS[name].tests})


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_has_its_place_and_its_tests(name: str):
    file, text = MUTATIONS[name].mutated()
    assert text != file.read_text(encoding="utf-8")
    for test in MUTATIONS[name].tests:
        tests, function = test.split("[")[0].split("::")
        assert f"def {function}(" in (mutants.TESTS / tests).read_text(encoding="utf-8")


@pytest.mark.every_turn
@pytest.mark.long
@pytest.mark.parametrize("name", CHOSEN)
def test_a_mutation_is_caught(name: str, tmp_path: Path):
    mutation = MUTATIONS[name]
    try:
        done = mutants.outcome(mutation.tests, tmp_path, mutation)
    except subprocess.TimeoutExpired:
        pytest.fail(f"no test failed within {mutants.PATIENCE} seconds: write the mutation or its test otherwise")
    assert done.returncode == FAILED, done.stdout + done.stderr
    assert re.search(r"^FAILED .*" + re.escape(mutation.tests[0].split("::")[1]), done.stdout, re.MULTILINE)


@pytest.mark.every_turn
@pytest.mark.long
@pytest.mark.timeout(TOGETHER * mutants.PATIENCE)  # nothing is compiled: some of them take long
@pytest.mark.parametrize("place", range(0, len(THEIR_TESTS), TOGETHER))
def test_the_same_tests_pass_without_a_mutation(place: int, tmp_path: Path):
    done = mutants.outcome(THEIR_TESTS[place : place + TOGETHER], tmp_path, patience=TOGETHER * mutants.PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_changed_is_chosen_and_the_others_come_by_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "RECORD", tmp_path / "record.json")
    assert mutants.chosen(MUTATIONS, everything=False) == list(MUTATIONS)
    mutants.record(MUTATIONS)
    turns = []
    for commits in range(mutants.TURNS):
        monkeypatch.setattr(mutants, "_commits", lambda commits=commits: commits)
        turns += mutants.chosen(MUTATIONS, everything=False)
    assert sorted(turns) == sorted(MUTATIONS)
    known = (tmp_path / "record.json").read_text(encoding="utf-8")
    name, mutation = next(iter(MUTATIONS.items()))
    (tmp_path / "record.json").write_text(known.replace(mutation.digest(), "another"), encoding="utf-8")
    for commits in range(mutants.TURNS):
        monkeypatch.setattr(mutants, "_commits", lambda commits=commits: commits)
        assert name in mutants.chosen(MUTATIONS, everything=False)


if __name__ == "__main__":
    mutants.record(MUTATIONS)
