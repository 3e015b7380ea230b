(** Channels and mixtures of posteriors are the same thing, and as many outputs as X has values are enough.

    docs/theory.md, "One linear program for every promise". *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Same.
Variables (R : realFieldType) (X Y : finType) (px : X -> R).
Implicit Types (Q v : Y -> X -> R) (q : Y -> R).

Definition law (v : X -> R) := (forall x, 0 <= v x) /\ \sum_x v x = 1.

(** px is written as a mixture of posteriors v y with weights q y. *)
Definition mixture q v :=
  [/\ forall y, 0 <= q y, forall y, 0 < q y -> law (v y) & forall x, \sum_y q y * v y x = px x].

(** P(y), P(x|y), and the way back *)
Definition output Q y := \sum_x px x * Q y x.
Definition posterior Q y x := px x * Q y x / output Q y.
Definition of_mixture q v y x := q y * v y x / px x.

Hypothesis px_law : law px.
Hypothesis px_positive : forall x, 0 < px x.

Let px_neq0 x : px x != 0. Proof. exact: lt0r_neq0. Qed.

Lemma output_ge0 Q y : channel Q -> 0 <= output Q y.
Proof. by case=> hQ _; apply: sumr_ge0 => x _; apply: mulr_ge0; rewrite ?hQ // ltW. Qed.

Lemma output_0 Q y x : channel Q -> output Q y = 0 -> px x * Q y x = 0.
Proof.
by case=> hQ _ h; apply: (psumr_eq0P _ h) => // z _; apply: mulr_ge0; rewrite ?hQ // ltW.
Qed.

Lemma output_posterior Q y x : channel Q -> output Q y * posterior Q y x = px x * Q y x.
Proof.
move=> hQ; rewrite /posterior; have [h|h] := eqVneq (output Q y) 0.
  by rewrite h mul0r output_0.
by rewrite mulrC divfK.
Qed.

Theorem channel_is_mixture Q : channel Q -> mixture (output Q) (posterior Q).
Proof.
move=> hQ; split=> [y|y hy|x]; first exact: output_ge0.
  split=> [x|]; last by rewrite -mulr_suml divff // lt0r_neq0.
  by rewrite divr_ge0 ?(ltW hy) // mulr_ge0 ?(ltW (px_positive x)) //; case: hQ.
under eq_bigr => y _ do rewrite output_posterior //.
by rewrite -mulr_sumr; case: hQ => _ ->; rewrite mulr1.
Qed.

Lemma mixture_ge0 q v y x : mixture q v -> 0 <= q y * v y x.
Proof.
case=> q_ge0 v_law _; have [h|h] := eqVneq (q y) 0; first by rewrite h mul0r.
have hy : 0 < q y by rewrite lt_def h q_ge0.
by rewrite mulr_ge0 ?q_ge0 //; case: (v_law y hy).
Qed.

Theorem mixture_is_channel q v : mixture q v -> channel (of_mixture q v).
Proof.
move=> h; split=> [y x|x].
  by rewrite divr_ge0 ?(mixture_ge0 y x h) // ltW.
by rewrite -mulr_suml; case: h => _ _ ->; rewrite divff.
Qed.

Theorem channel_of_its_mixture Q y x : channel Q -> of_mixture (output Q) (posterior Q) y x = Q y x.
Proof. by move=> hQ; rewrite /of_mixture output_posterior // mulrC mulKf. Qed.

Lemma px_of_mixture q v y x : px x * of_mixture q v y x = q y * v y x.
Proof. by rewrite /of_mixture mulrC divfK. Qed.

Theorem output_of_mixture q v y : mixture q v -> output (of_mixture q v) y = q y.
Proof.
case=> q_ge0 v_law _; rewrite /output; under eq_bigr => x _ do rewrite px_of_mixture.
rewrite -mulr_sumr; have [->|h] := eqVneq (q y) 0; first by rewrite mul0r.
by case: (v_law y) => [|_ ->]; rewrite ?mulr1 // lt_def h q_ge0.
Qed.

Theorem posterior_of_mixture q v y x : mixture q v -> 0 < q y -> posterior (of_mixture q v) y x = v y x.
Proof.
move=> h hy; rewrite /posterior output_of_mixture // px_of_mixture mulrC mulKf //.
exact: lt0r_neq0.
Qed.

(** ** As many outputs as values are enough *)

Definition used q := [set y | q y != 0].

Lemma used_gt0 q v y : mixture q v -> y \in used q -> 0 < q y.
Proof. by case=> q_ge0 _ _; rewrite inE lt_def q_ge0 => ->. Qed.

(** More than |X| posteriors are linearly dependent. *)
Lemma dependent q v : (#|X| < #|used q|)%N ->
  exists d : Y -> R, [/\ exists y, d y != 0, forall y, d y != 0 -> y \in used q
                       & forall x, \sum_y d y * v y x = 0].
Proof.
move=> many.
pose M := \matrix_(i < #|used q|, j < #|X|) v (enum_val i) (enum_val j).
have : kermx M != 0.
  by rewrite -mxrank_eq0 mxrank_ker subn_eq0 -ltnNge (leq_ltn_trans _ many) // rank_leq_col.
case/rowV0Pn => c /sub_kermxP cM c_neq0.
pose d y := \sum_i c 0 i * (enum_val i == y)%:R.
have d_at i : d (enum_val i) = c 0 i.
  rewrite /d (bigD1 i) //= eqxx mulr1 big1 ?addr0 // => j ji.
  by rewrite (inj_eq enum_val_inj) (negPf ji) mulr0.
have d_sum (F : Y -> R) : \sum_y d y * F y = \sum_i c 0 i * F (enum_val i).
  under eq_bigr => y _ do rewrite mulr_suml.
  rewrite exchange_big /=; apply: eq_bigr => i _.
  rewrite (bigD1 (enum_val i)) //= eqxx mulr1 big1 ?addr0 // => y yi.
  by rewrite eq_sym (negPf yi) mulr0 mul0r.
exists d; split.
- have [i hi] : exists i, c 0 i != 0 by exact/rV0Pn.
  by exists (enum_val i); rewrite d_at.
- move=> y; apply: contraNT => hy; rewrite /d big1 // => i _.
  have [e|] := eqVneq (enum_val i) y; last by rewrite mulr0.
  by move: hy; rewrite -e (enum_valP i).
- move=> x; rewrite d_sum.
  have e : (c *m M) 0 (enum_rank x) = 0 by rewrite cM mxE.
  by rewrite -[RHS]e mxE; apply: eq_bigr => i _; rewrite mxE enum_rankK.
Qed.

(** One output less, at no higher cost. *)
Lemma fewer q v (h : Y -> R) : mixture q v -> (#|X| < #|used q|)%N ->
  exists q', [/\ mixture q' v, used q' \proper used q & \sum_y q' y * h y <= \sum_y q y * h y].
Proof.
move=> mix many; have [q_ge0 v_law q_sum] := mix.
have [d0 [d0_neq0 d0_used d0_sum]] := dependent v many.
pose d y := (if \sum_y d0 y * h y <= 0 then 1 else -1) * d0 y.
have d_used y : d y != 0 -> y \in used q.
  by move=> hd; apply: d0_used; apply: contra_neq hd => e; rewrite /d e mulr0.
have d_sum x : \sum_y d y * v y x = 0.
  by under eq_bigr => y _ do rewrite -mulrA; rewrite -mulr_sumr d0_sum mulr0.
have d_cost : \sum_y d y * h y <= 0.
  under eq_bigr => y _ do rewrite -mulrA.
  rewrite -mulr_sumr; case: ifPn => [|]; first by rewrite mul1r.
  by rewrite -ltNge mulN1r oppr_le0 => /ltW.
have d_total : \sum_y d y = 0.
  transitivity (\sum_y \sum_x d y * v y x); last by rewrite exchange_big big1 //=.
  apply: eq_bigr => y _; rewrite -mulr_sumr.
  have [->|hd] := eqVneq (d y) 0; first by rewrite mul0r.
  by case: (v_law y (used_gt0 mix (d_used y hd))) => _ ->; rewrite mulr1.
have d_neq0 : exists y, d y != 0.
  case: d0_neq0 => y hy; exists y; rewrite /d mulf_neq0 //.
  by case: ifP => _; rewrite ?oppr_eq0 oner_eq0.
have [y0 hy0] : exists y, d y < 0.
  apply/existsP; apply: contraT; rewrite negb_exists => /forallP all_ge0.
  have ge0 y : true -> 0 <= d y by move=> _; rewrite leNgt all_ge0.
  by case: d_neq0 => y; rewrite (psumr_eq0P ge0 d_total) ?eqxx.
case: (@arg_minP _ _ _ y0 (fun y => d y < 0) (fun y => q y / - d y) hy0) => z hz z_least.
pose t := q z / - d z.
have t_ge0 : 0 <= t by rewrite divr_ge0 // oppr_ge0 ltW.
exists (fun y => q y + t * d y); split.
- split=> [y|y|x].
  + have [hy|hy] := ltP (d y) 0; last by rewrite addr_ge0 // mulr_ge0.
    have : t <= q y / - d y by exact: z_least.
    by rewrite ler_pdivl_mulr ?oppr_gt0 // mulrN -subr_ge0 opprK.
  + have [hd|hd] := eqVneq (d y) 0; first by rewrite hd mulr0 addr0; exact: v_law.
    by move=> _; apply: v_law; apply: (used_gt0 mix); exact: d_used.
  + under eq_bigr => y _ do rewrite mulrDl -mulrA.
    by rewrite big_split /= -mulr_sumr d_sum mulr0 addr0.
- apply/properP; split.
    apply/subsetP => y; rewrite inE => hy; have [hd|] := eqVneq (d y) 0; last exact: d_used.
    by move: hy; rewrite hd mulr0 addr0 inE.
  exists z; first by apply: d_used; rewrite ltr0_neq0.
  by rewrite inE negbK /t invrN mulrN mulNr divfK ?subrr // ltr0_neq0.
- under eq_bigr => y _ do rewrite mulrDl -mulrA.
  by rewrite big_split /= -mulr_sumr ger_addl mulr_ge0_le0.
Qed.

(** Every mixture can be thinned out to |X| of its posteriors, whatever each posterior costs. *)
Theorem few_posteriors q v (h : Y -> R) : mixture q v ->
  exists q', [/\ mixture q' v, (#|used q'| <= #|X|)%N, used q' \subset used q
               & \sum_y q' y * h y <= \sum_y q y * h y].
Proof.
have [n] := ubnP #|used q|; elim: n => // n IH in q *; rewrite ltnS => small mix.
have [le|lt] := leqP #|used q| #|X|; first by exists q; split.
have [q1 [mix1 sub1 cost1]] := fewer h mix lt.
have [q2 [mix2 few2 sub2 cost2]] := IH q1 (leq_trans (proper_card sub1) small) mix1.
exists q2; split=> //; first exact: subset_trans sub2 (proper_sub sub1).
exact: le_trans cost2 cost1.
Qed.

(** b <= a: for every channel, and every cost H of posteriors (their entropy), there is a channel with at most |X|
    outputs, each of which is one of the first with another weight (so it has the same posterior, and keeps every promise
    that the first keeps: [reweighted_ALIP] and so on), and whose mean cost is no higher: I(X;Y) = H(X) - mean of H is no
    smaller. *)
Theorem as_many_outputs_as_values Q (H : (X -> R) -> R) : channel Q ->
  (forall u u' : X -> R, u =1 u' -> H u = H u') ->
  exists Q' a, [/\ channel Q', (#|[set y | output Q' y != 0%R]| <= #|X|)%N,
                   forall y, 0 <= a y, forall y x, Q' y x = a y * Q y x
                 & \sum_y output Q' y * H (posterior Q' y) <= \sum_y output Q y * H (posterior Q y)].
Proof.
move=> hQ ext; have mix := channel_is_mixture hQ.
have [q [qmix few sub cost]] := few_posteriors (fun y => H (posterior Q y)) mix.
have eq_used y : output (of_mixture q (posterior Q)) y = q y by exact: output_of_mixture.
have eq_post y : q y != 0 -> posterior (of_mixture q (posterior Q)) y =1 posterior Q y.
  by move=> hy x; apply: posterior_of_mixture => //; apply: (used_gt0 qmix); rewrite inE.
exists (of_mixture q (posterior Q)), (fun y => q y / output Q y); split.
- exact: mixture_is_channel.
- by rewrite (eq_card (B := used q)) // => y; rewrite !inE eq_used.
- by move=> y; rewrite divr_ge0 ?output_ge0 //; case: qmix.
- move=> y x; rewrite /of_mixture /posterior -[LHS]mulrA [_ / output Q y / px x]mulrAC.
  by rewrite [px x * _]mulrC mulfK // [Q y x / _]mulrC mulrA.
- rewrite (eq_bigr (fun y => q y * H (posterior Q y))) // => y _; rewrite eq_used.
  have [->|hy] := eqVneq (q y) 0; first by rewrite !mul0r.
  by rewrite (ext _ _ (eq_post y hy)).
Qed.

End Same.

(** ** Vertices are enough

    Every posterior v y is itself a mixture of u k, the vertices of the polytope of the promise, and the cost H (entropy)
    is concave: H (v y) is at least the mean of H (u k). Then the vertices alone do, at no higher cost. *)
Section Vertices.
Variables (R : realFieldType) (X Y K : finType) (px : X -> R).
Variables (q : Y -> R) (v : Y -> X -> R) (u : K -> X -> R) (share : Y -> K -> R) (H : (X -> R) -> R).
Hypotheses (mix : mixture px q v) (share_law : forall y, law (share y)) (u_law : forall k, law (u k)).
Hypothesis mixed_of_vertices : forall y x, \sum_k share y k * u k x = v y x.
Hypothesis concave : forall y, \sum_k share y k * H (u k) <= H (v y).

Theorem vertices_are_enough : exists q', mixture px q' u /\ \sum_k q' k * H (u k) <= \sum_y q y * H (v y).
Proof.
have [q_ge0 _ q_sum] := mix; exists (fun k => \sum_y q y * share y k); split.
  split=> [k|k _|x]; [|exact: u_law|].
    by apply: sumr_ge0 => y _; rewrite mulr_ge0 //; case: (share_law y).
  under eq_bigr => k _ do rewrite mulr_suml.
  rewrite exchange_big /= -q_sum; apply: eq_bigr => y _; rewrite -mixed_of_vertices mulr_sumr.
  by apply: eq_bigr => k _; rewrite mulrA.
under eq_bigr => k _ do rewrite mulr_suml.
rewrite exchange_big /=; apply: ler_sum => y _; under eq_bigr => k _ do rewrite -mulrA.
by rewrite -mulr_sumr; apply: ler_wpmul2l.
Qed.

(** So for every mixture there is one of at most |X| vertices. *)
Theorem few_vertices_are_enough : exists q',
  [/\ mixture px q' u, (#|used q'| <= #|X|)%N & \sum_k q' k * H (u k) <= \sum_y q y * H (v y)].
Proof.
have [q1 [mix1 cost1]] := vertices_are_enough.
have [q2 [mix2 few2 _ cost2]] := few_posteriors (fun k => H (u k)) mix1.
by exists q2; split=> //; exact: le_trans cost2 cost1.
Qed.

End Vertices.

(** ** Promises are about posteriors, and so about rows up to a factor *)
Section AboutPosteriors.
Variables (R : realFieldType) (S X Y : finType) (p : S -> X -> R).
Implicit Types (Q : Y -> X -> R) (lo up g : R).

Let px x := \sum_s p s x.
Hypothesis p_ge0 : weights p.
Hypothesis px_positive : forall x, 0 < px x.

Lemma output_total Q y : output px Q y = total (given p (Q y)).
Proof.
rewrite /output /total /mass exchange_big /=; apply: eq_bigr => x _.
by rewrite /px mulr_suml.
Qed.

(** P(s|y) = sum of P(s|x) P(x|y): a promise about P(s|y) is one about the posterior of X. *)
Theorem belief_is_mean_over_posterior Q y s :
  belief (given p (Q y)) s = \sum_x p s x / px x * posterior px Q y x.
Proof.
rewrite /belief -output_total /mass mulr_suml; apply: eq_bigr => x _.
rewrite /posterior mulrA; congr (_ * _); rewrite /given.
by rewrite [px x * _]mulrC mulrA mulrAC divfK // lt0r_neq0.
Qed.

Variables (Q Q' : Y -> X -> R) (a : Y -> R).
Hypotheses (Q_channel : channel Q) (a_ge0 : forall y, 0 <= a y) (Q'_rows : forall y x, Q' y x = a y * Q y x).

Let Q_ge0 y : likelihood (Q y). Proof. by move=> x; case: Q_channel. Qed.
Let Q'_ge0 y : likelihood (Q' y). Proof. by move=> x; rewrite Q'_rows mulr_ge0 ?Q_ge0. Qed.

Lemma mass_reweighted y s : mass (given p (Q' y)) s = a y * mass (given p (Q y)) s.
Proof. by rewrite -mass_scale; apply: same_mass => x; rewrite /given Q'_rows. Qed.

Lemma total_reweighted y : total (given p (Q' y)) = a y * total (given p (Q y)).
Proof. by rewrite -total_scale; apply: same_total => s x; rewrite /given Q'_rows. Qed.

Theorem reweighted_ALIP lo up : ALIP lo up p Q -> ALIP lo up p Q'.
Proof.
move=> h y; split; [apply/lift_aboveP => // s | apply/lift_belowP => // s].
  have := (lift_aboveP _ p_ge0 (Q_ge0 y)).1 (h y).1 s.
  rewrite /above mass_reweighted total_reweighted -[a y * _ * _]mulrA [mass p s * (a y * _)]mulrCA [lo * (a y * _)]mulrCA => le.
  exact: ler_wpmul2l.
have := (lift_belowP _ p_ge0 (Q_ge0 y)).1 (h y).2 s.
rewrite /below mass_reweighted total_reweighted -[a y * _ * _]mulrA [mass p s * (a y * _)]mulrCA [up * (a y * _)]mulrCA => le.
exact: ler_wpmul2l.
Qed.

Theorem reweighted_LDP g : LDP g p Q -> LDP g p Q'.
Proof.
move=> h y; apply/lifts_closeP => // s t; have := (lifts_closeP _ p_ge0 (Q_ge0 y)).1 (h y) s t.
rewrite /close !mass_reweighted -!mulrA [g * (a y * _)]mulrCA => le; exact: ler_wpmul2l.
Qed.

End AboutPosteriors.

(** ** A false variant, refuted *)

(** One output less than X has values is not enough: with the posteriors "X is 0" and "X is 1" alone. *)
Theorem not_fewer_outputs_than_values :
  ~ (forall (X Y : finType) (px : X -> rat) (q : Y -> rat) (v : Y -> X -> rat),
       law px -> (forall x, 0 < px x) -> mixture px q v ->
       exists q', mixture px q' v /\ (#|used q'| < #|X|)%N).
Proof.
move=> claim; pose px (_ : bool) : rat := 1 / 2%:R; pose v (y x : bool) : rat := (y == x)%:R.
have px_law : law px by split=> //; rewrite big_bool; vm_compute.
have mix : mixture px px v.
  by split=> [//|y _|x]; [split=> [x|]; rewrite ?ler0n // big_bool; case: y | rewrite big_bool; case: x].
have [q' [[_ _ q'_sum]]] := claim _ _ px px v px_law (fun=> isT) mix.
suff -> : used q' = setT by rewrite cardsT ltnn.
apply/setP => y; rewrite !inE; apply/negP => /eqP e.
by have := q'_sum y; rewrite big_bool; case: y e => ->; rewrite /v /= ?mul0r ?mulr0 ?addr0.
Qed.

(** Posteriors whose mixture is not that of X are no channel. *)
Theorem not_a_channel_of_any_posteriors :
  ~ (forall (X Y : finType) (px : X -> rat) (q : Y -> rat) (v : Y -> X -> rat), law px -> (forall x, 0 < px x) ->
       law q -> (forall y, law (v y)) -> channel (of_mixture px q v)).
Proof.
move=> claim; pose px (_ : bool) : rat := 1 / 2%:R; pose v (y x : bool) : rat := x%:R.
have px_law : law px by split=> //; rewrite big_bool; vm_compute.
have v_law y : law (v y) by split=> [[]|] //; rewrite big_bool; vm_compute.
have [_ /(_ true)] := claim _ _ px px v px_law (fun=> isT) px_law v_law.
by rewrite big_bool; vm_compute.
Qed.

(** Without concavity vertices may cost more: the cost of the posterior in the middle is 0, of all others 1. *)
Theorem not_vertices_without_concavity :
  ~ (forall (X Y K : finType) (px : X -> rat) (q : Y -> rat) (v : Y -> X -> rat) (u : K -> X -> rat) (share : Y -> K -> rat)
       (H : (X -> rat) -> rat), mixture px q v -> (forall y, law (share y)) -> (forall k, law (u k)) ->
       (forall y x, \sum_k share y k * u k x = v y x) ->
       exists q', mixture px q' u /\ \sum_k q' k * H (u k) <= \sum_y q y * H (v y)).
Proof.
move=> claim; pose half (_ : bool) : rat := 1 / 2%:R; pose u (k x : bool) : rat := (k == x)%:R.
pose H (w : bool -> rat) : rat := (w true != 1 / 2%:R)%:R.
have half_law : law half by split=> //; rewrite big_bool; vm_compute.
have u_law k : law (u k) by split=> [x|]; rewrite ?ler0n // big_bool; case: k.
have mix : mixture half half (fun=> half) by split=> // x; rewrite big_bool; vm_compute.
have mixed y x : \sum_k half k * u k x = half y by rewrite big_bool; case: x; vm_compute.
have [q' [[_ _ q'_sum]]] := claim _ _ _ half half (fun=> half) u (fun=> half) H mix (fun=> half_law) u_law
  (fun _ x => mixed x x).
have := q'_sum true; have := q'_sum false; rewrite !big_bool /u /= !mulr0 !mulr1 addr0 add0r => -> ->.
by vm_compute.
Qed.
