(** The check in whole numbers implies the promise. docs/theory.md, "The certificate for the promise".

    n s x are counts, k y x numerators over D = 2^32. What somebody knows beforehand is m x: 1 for the values of X in
    their cell and 0 for others; 1 everywhere if they know nothing; the product of numerators of what was released
    before. a / b is a rational below g = e^epsilon. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Privacyfunnel Require Import arithmetic channels promises relations processing.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.

(** ** The check: whole numbers only *)
Section Check.
Local Open Scope nat_scope.
Variables (S X Y : finType).
Implicit Types (n : S -> X -> nat) (m row : X -> nat) (k : Y -> X -> nat) (a b : nat).

(** N[s] among those who know m, and N[y, s] for the row of y; without s, their sums *)
Definition people n m s := \sum_x n s x * m x.
Definition everybody n m := \sum_s people n m s.
Definition both m row x := m x * row x.

Definition check_below a b n m row s :=
  people n (both m row) s * everybody n m * b <= a * (people n m s * everybody n (both m row)).
Definition check_above a b n m row s :=
  people n m s * everybody n (both m row) * b <= a * (people n (both m row) s * everybody n m).
Definition check_close a b n m row s t :=
  people n (both m row) s * people n m t * b <= a * (people n (both m row) t * people n m s).
Definition check_belief a b n m row s := people n (both m row) s * b <= a * everybody n (both m row).

Definition numerators D k := forall x, \sum_y k y x = D.

End Check.

Local Open Scope ring_scope.

Section FromCounts.
Variables (R : realFieldType) (S X Y : finType).
Implicit Types (n : S -> X -> nat) (m row : X -> nat) (k : Y -> X -> nat).

(** p(s, x) = n[s, x] / n and Q[y, x] = k[y, x] / D *)
Definition law_of n s x : R := (n s x)%:R / (\sum_s \sum_x n s x)%:R.
Definition channel_of D k y x : R := (k y x)%:R / D%:R.
Definition known m x : R := (m x)%:R.

Lemma law_of_distribution n : (0 < \sum_s \sum_x n s x)%N -> distribution (law_of n).
Proof.
move=> n_gt0; split=> [s x|]; first by rewrite divr_ge0 ?ler0n.
rewrite /total /mass; under eq_bigr => s _ do rewrite -mulr_suml -natr_sum.
by rewrite -mulr_suml -natr_sum divff // pnatr_eq0 -lt0n.
Qed.

Lemma law_of_ge0 n : weights (law_of n).
Proof. by move=> s x; rewrite divr_ge0 ?ler0n. Qed.

Theorem channel_of_channel D k : (0 < D)%N -> numerators D k -> channel (channel_of D k).
Proof.
move=> D_gt0 k_sum; split=> [y x|x]; first by rewrite divr_ge0 ?ler0n.
by rewrite -mulr_suml -natr_sum k_sum divff // pnatr_eq0 -lt0n.
Qed.

End FromCounts.

(** ** Each check implies its limit. *)
Section OneRow.
Variables (R : realFieldType) (S X : finType) (n : S -> X -> nat) (m row : X -> nat) (D a b : nat) (g : R).
Hypotheses (D_gt0 : (0 < D)%N) (b_gt0 : (0 < b)%N) (rounded_down : a%:R / b%:R <= g).

Let p := given (law_of R n) (known R m).
Let r x : R := (row x)%:R / D%:R.
Let N : R := (\sum_s \sum_x n s x)%:R.

Let p_ge0 : weights p.
Proof. by apply: weights_given => [|x]; [exact: law_of_ge0 | rewrite /known ler0n]. Qed.
Let r_ge0 : likelihood r. Proof. by move=> x; rewrite divr_ge0 ?ler0n. Qed.

Lemma mass_of s : mass p s = (people n m s)%:R / N.
Proof.
rewrite /mass /people natr_sum mulr_suml; apply: eq_bigr => x _.
by rewrite /p /given /law_of /known natrM mulrAC.
Qed.

Lemma mass_of_row s : mass (given p r) s = (people n (both m row) s)%:R / (N * D%:R).
Proof.
rewrite /mass /people natr_sum mulr_suml; apply: eq_bigr => x _.
by rewrite /p /given /law_of /known /r /both !natrM invfM [_ / N * _]mulrAC mulrACA -!mulrA.
Qed.

Lemma total_of : total p = (everybody n m)%:R / N.
Proof. by rewrite /total /everybody natr_sum mulr_suml; apply: eq_bigr => s _; exact: mass_of. Qed.

Lemma total_of_row : total (given p r) = (everybody n (both m row))%:R / (N * D%:R).
Proof. by rewrite /total /everybody natr_sum mulr_suml; apply: eq_bigr => s _; exact: mass_of_row. Qed.

(** c b <= a d in whole numbers gives c <= g d, because a / b <= g. *)
Lemma from_integers (c d : nat) : (c * b <= a * d)%N -> c%:R <= g * d%:R :> R.
Proof.
move=> h; have b_pos : 0 < b%:R :> R by rewrite ltr0n.
rewrite -(ler_pmul2r b_pos) -natrM; apply: (@le_trans _ _ ((a * d)%N%:R)); first by rewrite ler_nat.
by rewrite natrM mulrAC ler_wpmul2r ?ler0n // -ler_pdivr_mulr.
Qed.

Let scale_ge0 : 0 <= (N * D%:R)^-1 / N. Proof. by rewrite divr_ge0 ?invr_ge0 ?mulr_ge0 ?ler0n. Qed.

Add Field Row_field : (@field_laws R).

Let scaled (c d : nat) : c%:R / (N * D%:R) * (d%:R / N) = (c * d)%N%:R * ((N * D%:R)^-1 / N).
Proof. by rewrite natrM mulrACA. Qed.
Let scaled' (c d : nat) : c%:R / N * (d%:R / (N * D%:R)) = (c * d)%N%:R * ((N * D%:R)^-1 / N).
Proof. by rewrite natrM mulrACA [N^-1 * _]mulrC. Qed.

Lemma below_of s : check_below a b n m row s -> below g p r s.
Proof.
move=> h; rewrite /below mass_of_row total_of mass_of total_of_row scaled scaled' [X in _ <= X]mulrA.
by apply: ler_wpmul2r => //; exact: from_integers.
Qed.

Lemma above_of s : 0 < g -> check_above a b n m row s -> above g^-1 p r s.
Proof.
move=> g_gt0 h; rewrite /above ler_pdivr_mull // mass_of_row total_of mass_of total_of_row scaled scaled' [X in _ <= X]mulrA.
by apply: ler_wpmul2r => //; exact: from_integers.
Qed.

Lemma close_of s t : check_close a b n m row s t -> close g p r s t.
Proof.
move=> h; rewrite /close !mass_of_row !mass_of !scaled [X in _ <= X]mulrA.
by apply: ler_wpmul2r => //; exact: from_integers.
Qed.

(** The other way round: what keeps the limit a / b passes the check. *)
Lemma to_integers (c d : nat) : c%:R <= a%:R / b%:R * d%:R :> R -> (c * b <= a * d)%N.
Proof.
have b_pos : 0 < b%:R :> R by rewrite ltr0n.
by rewrite mulrAC ler_pdivl_mulr // -!natrM ler_nat.
Qed.

Hypothesis n_gt0 : (0 < \sum_s \sum_x n s x)%N.

Let scale_gt0 : 0 < (N * D%:R)^-1 / N.
Proof. by rewrite divr_gt0 ?invr_gt0 ?mulr_gt0 ?ltr0n. Qed.

Lemma of_below s : below (a%:R / b%:R) p r s -> check_below a b n m row s.
Proof.
rewrite /below mass_of_row total_of mass_of total_of_row scaled scaled' [X in _ <= X]mulrA ler_pmul2r //.
exact: to_integers.
Qed.

Lemma of_above s : (0 < a)%N -> above (a%:R / b%:R)^-1 p r s -> check_above a b n m row s.
Proof.
move=> a_gt0; have g_gt0 : 0 < a%:R / b%:R :> R by rewrite divr_gt0 ?ltr0n.
rewrite /above ler_pdivr_mull // mass_of_row total_of mass_of total_of_row scaled scaled' [X in _ <= X]mulrA.
by rewrite ler_pmul2r //; exact: to_integers.
Qed.

Lemma lift_below_of : (forall s, check_below a b n m row s) -> lift_below g p r.
Proof. by move=> h; apply/lift_belowP => // s; exact: below_of. Qed.

Lemma lift_above_of : 0 < g -> (forall s, check_above a b n m row s) -> lift_above g^-1 p r.
Proof. by move=> g_gt0 h; apply/lift_aboveP => // s; exact: above_of. Qed.

Lemma lifts_close_of : (forall s t, check_close a b n m row s t) -> lifts_close g p r.
Proof. by move=> h; apply/lifts_closeP => // s t; exact: close_of. Qed.

Lemma belief_of s : check_belief a b n m row s -> 0 < total (given p r) -> belief (given p r) s <= g.
Proof.
move=> h; apply/belief_atP => //; rewrite mass_of_row total_of_row [X in _ <= X]mulrA.
by apply: ler_wpmul2r; [rewrite invr_ge0 mulr_ge0 ?ler0n | exact: from_integers].
Qed.

End OneRow.

(** ** The certificate of each promise *)
Section Certificate.
Variables (R : realFieldType) (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D a b : nat) (g : R).
Hypotheses (D_gt0 : (0 < D)%N) (b_gt0 : (0 < b)%N) (g_ge1 : 1 <= g) (rounded_down : a%:R / b%:R <= g).

Let p := law_of R n.
Let Q := channel_of R D k.
Let g_gt0 : 0 < g. Proof. exact: lt_le_trans ltr01 g_ge1. Qed.

(** For those who know m beforehand. *)
Theorem certificate_LIP_given m :
  (forall y s, check_below a b n m (k y) s /\ check_above a b n m (k y) s) -> LIP g (given p (known R m)) Q.
Proof. 
by move=> h y; split; [apply: (lift_above_of b_gt0 rounded_down) | apply: (lift_below_of b_gt0 rounded_down)] => // s;
  case: (h y s). Qed.

Theorem certificate_PML_given m :
  (forall y s, check_below a b n m (k y) s) -> PML g (given p (known R m)) Q.
Proof. by move=> h y; apply: (lift_below_of b_gt0 rounded_down) => // s; exact: h. Qed.

Theorem certificate_LDP_given m :
  (forall y s t, check_close a b n m (k y) s t) -> LDP g (given p (known R m)) Q.
Proof. by move=> h y; apply: (lifts_close_of D b_gt0 rounded_down) => // s t; exact: h. Qed.

Theorem certificate_belief_given m (bound : R) s : a%:R / b%:R <= bound ->
  (forall y, check_belief a b n m (k y) s) -> belief_at_most bound (given p (known R m)) Q s.
Proof. by move=> le h y; apply: (belief_of b_gt0 le); exact: h. Qed.

(** For those who know nothing: m = 1. *)
Definition nothing (x : X) := 1%N.

Lemma knowing_1 s x : given p (known R nothing) s x = p s x.
Proof. by rewrite /given /known mulr1. Qed.

Lemma same_row (q q' : S -> X -> R) r : (forall s x, q s x = q' s x) ->
  forall s x, given q r s x = given q' r s x.
Proof. by move=> e s x; rewrite /given e. Qed.

Lemma same_lift (q q' : S -> X -> R) r s : (forall s x, q s x = q' s x) -> lift q r s = lift q' r s.
Proof. by move=> e; rewrite /lift (same_belief _ e) (same_belief _ (same_row r e)). Qed.

Lemma same_ALIP (q q' : S -> X -> R) lo up : (forall s x, q s x = q' s x) -> ALIP lo up q Q -> ALIP lo up q' Q.
Proof.
move=> e h y; have [l u] := h y; split=> s.
  by rewrite -(same_belief _ e) -(same_total (same_row (Q y) e)) -(same_lift _ _ e); exact: l.
by rewrite -(same_belief _ e) -(same_total (same_row (Q y) e)) -(same_lift _ _ e); exact: u.
Qed.

Lemma same_PML (q q' : S -> X -> R) : (forall s x, q s x = q' s x) -> PML g q Q -> PML g q' Q.
Proof.
move=> e h y s; rewrite -(same_belief _ e) -(same_total (same_row (Q y) e)) -(same_lift _ _ e); exact: h.
Qed.

Lemma same_LDP (q q' : S -> X -> R) : (forall s x, q s x = q' s x) -> LDP g q Q -> LDP g q' Q.
Proof.
move=> e h y s t; rewrite -!(same_belief _ e) /chance -!(same_mass (e _)) -!(same_mass (same_row (Q y) e _)).
exact: h.
Qed.

Theorem certificate_LIP :
  (forall y s, check_below a b n nothing (k y) s /\ check_above a b n nothing (k y) s) -> LIP g p Q.
Proof. by move=> h; apply: (same_ALIP knowing_1); exact: certificate_LIP_given. Qed.

Theorem certificate_PML : (forall y s, check_below a b n nothing (k y) s) -> PML g p Q.
Proof. by move=> h; apply: (same_PML knowing_1); exact: certificate_PML_given. Qed.

Theorem certificate_LDP : (forall y s t, check_close a b n nothing (k y) s t) -> LDP g p Q.
Proof. by move=> h; apply: (same_LDP knowing_1); exact: certificate_LDP_given. Qed.

(** The check is exact: what keeps LIP for g = a / b passes with a / b. *)
Theorem certificate_is_exact m : (0 < \sum_s \sum_x n s x)%N -> (0 < a)%N ->
  LIP (a%:R / b%:R) (given p (known R m)) Q ->
  forall y s, check_below a b n m (k y) s /\ check_above a b n m (k y) s.
Proof.
move=> n_gt0 a_gt0 lip y s; have [lo up] := lip y.
have p_ge0 : weights (given p (known R m)).
  by apply: weights_given => [|x]; [exact: law_of_ge0 | rewrite /known ler0n].
have Q_ge0 : likelihood (Q y) by move=> x; rewrite divr_ge0 ?ler0n.
split.
  exact: (of_below D_gt0 b_gt0 n_gt0 ((lift_belowP _ p_ge0 Q_ge0).1 up s)).
exact: (of_above D_gt0 b_gt0 n_gt0 a_gt0 ((lift_aboveP _ p_ge0 Q_ge0).1 lo s)).
Qed.

(** For everybody who knows attributes: m x = 1 in their cell, 0 outside. *)
Section SideChannels.
Variables (I : finType) (A : eqType) (attr : I -> X -> A) (allowed : pred {set I}).
Definition cell (J : {set I}) x0 x : nat := agrees attr J x0 x.

Theorem certificate_SRLIP :
  (forall J x0 y s, allowed J ->
     check_below a b n (cell J x0) (k y) s /\ check_above a b n (cell J x0) (k y) s) -> SRLIP attr allowed g p Q.
Proof. by move=> h J x0 hJ; apply: certificate_LIP_given => y s; exact: h. Qed.

Theorem certificate_SRLDP :
  (forall J x0 y s t, allowed J -> check_close a b n (cell J x0) (k y) s t) -> SRLDP attr allowed g p Q.
Proof. by move=> h J x0 hJ; apply: certificate_LDP_given => y s t; exact: h. Qed.

End SideChannels.

End Certificate.

(** Two bounds: a / b below e^epsilon_u, a' / b' below e^epsilon_l. Perfect privacy: both are 1. *)
Section TwoBounds.
Variables (R : realFieldType) (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D : nat).
Hypothesis D_gt0 : (0 < D)%N.

Theorem certificate_ALIP (a b a' b' : nat) (g_upper g_lower : R) : (0 < b)%N -> (0 < b')%N -> 1 <= g_lower ->
  a%:R / b%:R <= g_upper -> a'%:R / b'%:R <= g_lower ->
  (forall y s, check_below a b n (@nothing X) (k y) s /\ check_above a' b' n (@nothing X) (k y) s) ->
  ALIP g_lower^-1 g_upper (law_of R n) (channel_of R D k).
Proof.
move=> b_gt0 b'_gt0 l_ge1 u_down l_down h; apply: (same_ALIP (@knowing_1 R S X n)) => y; split.
  by apply: (lift_above_of b'_gt0 l_down) => // [|s]; [exact: lt_le_trans ltr01 l_ge1 | case: (h y s)].
by apply: (lift_below_of b_gt0 u_down) => // s; case: (h y s).
Qed.

Theorem certificate_perfect :
  (forall y s, check_below 1 1 n (@nothing X) (k y) s /\ check_above 1 1 n (@nothing X) (k y) s) ->
  perfect (law_of R n) (channel_of R D k).
Proof. by rewrite /perfect -[X in ALIP X]invr1; apply: certificate_ALIP; rewrite ?divr1. Qed.

End TwoBounds.

(** Limits of their own for each value of the secret; without a lower one, lo s = 0. *)
Section EachValue.
Variables (R : realFieldType) (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D : nat).
Hypothesis D_gt0 : (0 < D)%N.

Theorem certificate_each (a b a' b' : S -> nat) (up lo : S -> R) : (forall s, 0 < b s)%N -> (forall s, 0 < b' s)%N ->
  (forall s, 1 <= lo s) -> (forall s, (a s)%:R / (b s)%:R <= up s) -> (forall s, (a' s)%:R / (b' s)%:R <= lo s) ->
  (forall y s, check_below (a s) (b s) n (@nothing X) (k y) s /\ check_above (a' s) (b' s) n (@nothing X) (k y) s) ->
  each_within_limits (fun s => (lo s)^-1) up (law_of R n) (channel_of R D k).
Proof.
move=> b_gt0 b'_gt0 lo_ge1 up_down lo_down h y s; rewrite -!(same_belief s (@knowing_1 R S X n)) => hs.
have Q_ge0 : likelihood (channel_of R D k y) by move=> x; rewrite divr_ge0 ?ler0n.
have p_ge0 : weights (given (law_of R n) (known R (@nothing X))).
  by apply: weights_given => [|x]; [exact: law_of_ge0 | rewrite /known ler0n].
have e := same_row (channel_of R D k y) (@knowing_1 R S X n).
rewrite -(same_total e) -(same_lift _ _ (@knowing_1 R S X n)) => ht.
have m_gt0 : 0 < mass (given (law_of R n) (known R (@nothing X))) s by rewrite -belief_gt0.
have [below_s above_s] := h y s; have T_gt0 := mass_total_gt0 p_ge0 m_gt0.
rewrite lift_at_least ?lift_at_most //; apply/andP; split.
  exact: (above_of D (b'_gt0 s) (lo_down s) (lt_le_trans ltr01 (lo_ge1 s)) above_s).
exact: (below_of D (b_gt0 s) (up_down s) below_s).
Qed.

(** "Belief in s at most bound", a / b below the bound *)
Theorem certificate_belief (a b : nat) (bound : R) s : (0 < b)%N -> a%:R / b%:R <= bound ->
  (forall y, check_belief a b n (@nothing X) (k y) s) -> belief_at_most bound (law_of R n) (channel_of R D k) s.
Proof.
move=> b_gt0 le h y; have e := same_row (channel_of R D k y) (@knowing_1 R S X n).
by rewrite -(same_total e) -(same_belief s e); apply: (belief_of b_gt0 le); exact: h.
Qed.

End EachValue.

(** Several secrets: each promise is checked on the counts of its own events. *)
Section SeveralSecrets.
Variables (R : realFieldType) (S X Y T : finType) (coarse : S -> T) (n : S -> X -> nat).

Definition counts_about t x := (\sum_(s | coarse s == t) n s x)%N.

Theorem certificate_about t x : law_of R counts_about t x = about coarse (law_of R n) t x.
Proof.
have e : (\sum_t \sum_x counts_about t x = \sum_s \sum_x n s x)%N.
  rewrite exchange_big [RHS]exchange_big /=; apply: eq_bigr => z _.
  by rewrite [RHS](partition_big coarse predT).
by rewrite /about /law_of e /counts_about natr_sum -mulr_suml.
Qed.

End SeveralSecrets.

(** ** False variants, refuted *)

(** With a / b above g, here 2 for g = 1, the check lets pass what breaks the promise: rounding must go down. *)
Theorem not_certificate_rounded_up :
  ~ (forall (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D a b : nat) (g : rat),
       (0 < D)%N -> (0 < b)%N -> 1 <= g -> numerators D k -> g <= a%:R / b%:R ->
       (forall y s, check_below a b n (@nothing X) (k y) s /\ check_above a b n (@nothing X) (k y) s) ->
       LIP g (law_of _ n) (channel_of _ D k)).
Proof.
move=> claim; pose n (s x : bool) : nat := s == x; pose k (y x : bool) : nat := if y == x then 3%N else 1%N.
have k_sum : numerators 4 k by move=> x; rewrite big_bool; case: x.
have lip : LIP (1 : rat) (law_of _ n) (channel_of _ 4 k).
  apply: (claim _ _ _ n k 4%N 2%N 1%N) => // y s.
  by split; rewrite /check_below /check_above /everybody /people !big_bool; case: y s => [] [].
have Q_ge0 : likelihood (channel_of rat_realFieldType 4 k true) by move=> x; rewrite divr_ge0 ?ler0n.
have [_ /(lift_belowP _ (@law_of_ge0 rat_realFieldType _ _ n) Q_ge0)/(_ true)] := lip true.
by rewrite /below /total /mass /given /law_of !big_bool; vm_compute.
Qed.

(** The largest lift alone is not enough: a belief that falls to nothing is found only by the check from below. *)
Theorem not_certificate_without_lower_check :
  ~ (forall (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D a b : nat) (g : rat),
       (0 < D)%N -> (0 < b)%N -> 1 <= g -> numerators D k -> a%:R / b%:R <= g ->
       (forall y s, check_below a b n (@nothing X) (k y) s) -> LIP g (law_of _ n) (channel_of _ D k)).
Proof.
move=> claim; pose n (s x : bool) : nat := s == x; pose k (y x : bool) : nat := y == x.
have k_sum : numerators 1 k by move=> x; rewrite big_bool; case: x.
have lip : LIP (2%:R : rat) (law_of _ n) (channel_of _ 1 k).
  apply: (claim _ _ _ n k 1%N 2%N 1%N) => // y s.
  by rewrite /check_below /everybody /people !big_bool; case: y s => [] [].
have Q_ge0 : likelihood (channel_of rat_realFieldType 1 k true) by move=> x; rewrite divr_ge0 ?ler0n.
have [/(lift_aboveP _ (@law_of_ge0 rat_realFieldType _ _ n) Q_ge0)/(_ false) + _] := lip true.
by rewrite /above /total /mass /given /law_of !big_bool; vm_compute.
Qed.

(** What is checked for those who know nothing is not promised to those who know an attribute. *)
Theorem not_certificate_without_cells :
  ~ (forall (S X Y I : finType) (attr : I -> X -> bool) (n : S -> X -> nat) (k : Y -> X -> nat) (D a b : nat) (g : rat),
       (0 < D)%N -> (0 < b)%N -> 1 <= g -> numerators D k -> a%:R / b%:R <= g ->
       (forall y s, check_below a b n (@nothing X) (k y) s /\ check_above a b n (@nothing X) (k y) s) ->
       SRLIP attr predT g (law_of _ n) (channel_of _ D k)).
Proof.
move=> claim; pose n (s : bool) (x : bool * bool) : nat := s == (x.1 != x.2).
pose k (y : bool) (x : bool * bool) : nat := y == x.1.
have k_sum : numerators 1 k by move=> [[] []]; rewrite big_bool.
have sums (F : bool * bool -> nat) :
    (\sum_x F x = F (true, true) + F (true, false) + (F (false, true) + F (false, false)))%N.
  rewrite (eq_bigr (fun x => F (x.1, x.2))) => [|[] //].
  by rewrite -(pair_bigA _ (fun a b => F (a, b))) /= !big_bool.
have srlip : SRLIP bit predT (1 : rat) (law_of _ n) (channel_of _ 1 k).
  apply: (claim _ _ _ _ bit n k 1%N 1%N 1%N) => // y s.
  by split; rewrite /check_below /check_above /everybody /people !big_bool !sums; case: y s => [] [].
have [_ up] := srlip [set false] (true, true) isT true.
have Q_ge0 : likelihood (channel_of rat_realFieldType 1 k true) by move=> x; rewrite divr_ge0 ?ler0n.
have cell_ge0 : weights (knowing bit (law_of rat_realFieldType n) [set false] (true, true)).
  by apply: weights_given => [|x]; [exact: law_of_ge0 | rewrite ler0n].
move/(lift_belowP _ cell_ge0 Q_ge0)/(_ false): up.
rewrite /below /total /mass !big_bool !sum_two_bits /knowing /given !agrees_on_one /law_of !big_bool !sums.
by vm_compute.
Qed.

(** A limit that a / b is above is not proven by the check: here 3/4 for a bound of 1/2. *)
Theorem not_certificate_belief_rounded_up :
  ~ (forall (S X Y : finType) (n : S -> X -> nat) (k : Y -> X -> nat) (D a b : nat) (bound : rat) s,
       (0 < D)%N -> (0 < b)%N -> numerators D k -> bound <= a%:R / b%:R ->
       (forall y, check_belief a b n (@nothing X) (k y) s) -> belief_at_most bound (law_of _ n) (channel_of _ D k) s).
Proof.
move=> claim; pose n (s x : bool) : nat := s == x; pose k (y x : bool) : nat := if y == x then 3%N else 1%N.
have k_sum : numerators 4 k by move=> x; rewrite big_bool; case: x.
have := claim _ _ _ n k 4%N 3%N 4%N (1 / 2%:R) true isT isT k_sum isT.
have check y : check_belief 3 4 n (@nothing bool_finType) (k y) true.
  by rewrite /check_belief /everybody /people !big_bool; case: y.
move/(_ check true); rewrite /belief /total /mass /given /law_of !big_bool.
by vm_compute => /(_ isT).
Qed.
