(** Products of columns: the source paper's budget theorem fails, a chained one holds. docs/methods.md, "A theorem
    that fails".

    X has attributes attr j x. Each is released by a channel of its own, Q j; the product draws them independently. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Coq Require BinNat.
From Privacyfunnel Require Import arithmetic channels promises relations processing certificate binary over_time.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Products.
Variables (R : realFieldType) (S X I A B : finType) (attr : I -> X -> A).
Variables (p : S -> X -> R) (Q : I -> B -> A -> R) (g : I -> R).

(** The channel of column j alone, and the product of all: y j is the output of column j. *)
Definition alone j (b : B) x := Q j b (attr j x).
Definition product (y : {ffun I -> B}) x := \prod_j alone j (y j) x.

(** The paper's hypothesis: for every set J of attributes without j, column j keeps its share of the budget towards those
    who know X^J. *)
Definition each_within := forall j (J : {set I}) x0, j \notin J -> LIP (g j) (knowing attr p J x0) (alone j).

Theorem product_channel : (forall j, channel (Q j)) -> channel product.
Proof.
move=> hQ; split=> [y x|x]; first by apply: prodr_ge0 => j _; exact: (hQ j).1.
rewrite -(bigA_distr_bigA (fun j b => alone j b x)) big1 // => j _; exact: (hQ j).2.
Qed.

End Products.

(** ** The chained theorem *)
Section Chained.
Variables (R : realFieldType) (S X A B : finType) (m : nat) (attr : 'I_m -> X -> A).
Variables (p : S -> X -> R) (Q : 'I_m -> B -> A -> R) (g : 'I_m -> R).

(** What the outputs of the columns k < t that are not in J say *)
Definition earlier (J : {set 'I_m}) (y : {ffun 'I_m -> B}) (t : nat) x :=
  \prod_(k < m | (k < t)%N && (k \notin J)) alone attr Q k (y k) x.

(** Column j keeps its share towards those who know X^J and have seen the earlier columns that they do not know. *)
Definition each_within_after_earlier := forall j (J : {set 'I_m}) x0 (y : {ffun 'I_m -> B}), j \notin J ->
  LIP (g j) (given (knowing attr p J x0) (earlier J y j)) (alone attr Q j).

Hypothesis p_ge0 : weights p.
Hypothesis Q_channel : forall j, channel (Q j).
Hypothesis g_ge1 : forall j, 1 <= g j.
Hypothesis chained : each_within_after_earlier.

Let alone_ge0 j b : likelihood (alone attr Q j b). Proof. by move=> x; exact: (Q_channel j).1. Qed.
Let earlier_ge0 J y t : likelihood (earlier J y t). Proof. by move=> x; apply: prodr_ge0 => k _; exact: alone_ge0. Qed.
Let g_gt0 j : 0 < g j. Proof. exact: lt_le_trans ltr01 (g_ge1 j). Qed.

Definition spent (J : {set 'I_m}) (t : nat) := \prod_(k < m | (k < t)%N && (k \notin J)) g k.

Lemma spent_ge1 (P : pred 'I_m) : 1 <= \prod_(k < m | P k) g k.
Proof.
by apply: (big_ind (fun a => 1 <= a)) => // a b ha hb; rewrite -[1]mulr1 ler_pmul ?ler01.
Qed.

Lemma step_of (F : 'I_m -> R) (J : {set 'I_m}) (j : 'I_m) :
  \prod_(k < m | (k < j.+1)%N && (k \notin J)) F k =
  (\prod_(k < m | (k < j)%N && (k \notin J)) F k) * (if j \in J then 1 else F j).
Proof.
rewrite mulrC; case: ifPn => hj.
  rewrite mul1r; apply: eq_bigl => k; rewrite ltnS leq_eqVlt.
  by have [e|] //= := eqVneq (k : nat) j; rewrite (ord_inj e) hj ltnn.
rewrite (bigD1 j) /=; last by rewrite ltnSn.
congr (_ * _); apply: eq_bigl => k; rewrite ltnS leq_eqVlt -val_eqE /=.
by have [->|] := eqVneq (k : nat) j; rewrite ?ltnn ?andbF ?andbT.
Qed.

Lemma chain J x0 y t : (t <= m)%N -> within (spent J t) (knowing attr p J x0) (earlier J y t).
Proof.
have k_ge0 : weights (knowing attr p J x0) by exact: knowing_ge0.
elim: t => [_|t IH lt_tm].
  have e x : earlier J y 0 x = 1 by rewrite /earlier big_pred0.
  have e1 s x : given (knowing attr p J x0) (earlier J y 0) s x = knowing attr p J x0 s x by rewrite /given e mulr1.
  rewrite /spent big_pred0 //; split=> s hs _; rewrite /lift (same_belief s e1) divff ?invr1 //; exact: lt0r_neq0.
pose j := Ordinal lt_tm; have {}IH := IH (ltnW lt_tm).
have e_spent : spent J t.+1 = spent J t * (if j \in J then 1 else g j) by exact: (step_of g J j).
have e_row x : earlier J y t.+1 x = earlier J y t x * (if j \in J then 1 else alone attr Q j (y j) x).
  exact: (step_of (fun k => alone attr Q k (y k) x) J j).
have [hj|hj] := boolP (j \in J).
  rewrite e_spent hj mulr1; apply: same_within IH => // s x.
  by rewrite /given e_row hj mulr1.
rewrite e_spent (negPf hj).
apply: (same_within (p := knowing attr p J x0) (r := fun x => earlier J y t x * alone attr Q j (y j) x)) => //.
  by move=> s x; rewrite /given e_row (negPf hj).
apply: within_step => //; first by rewrite (lt_le_trans ltr01) // spent_ge1.
exact: (chained x0 y hj).
Qed.

(** The product keeps SRLIP with the whole budget. *)
Theorem chained_budget : SRLIP attr predT (\prod_j g j) p (product attr Q).
Proof.
move=> J x0 _ y; pose c := \prod_(k < m | k \in J) Q k (y k) (attr k x0).
have c_ge0 : 0 <= c by apply: prodr_ge0 => k _; exact: (Q_channel k).1.
have k_ge0 : weights (knowing attr p J x0) by exact: knowing_ge0.
have all : within (\prod_j g j) (knowing attr p J x0) (fun x => c * earlier J y m x).
  apply: within_scale => //; apply: within_weaker (chain J x0 y (leqnn m)).
    by rewrite (lt_le_trans ltr01) // spent_ge1.
  rewrite /spent [X in _ <= X](bigID (fun k => k \notin J)) /= -[X in X <= _]mulr1.
  under eq_bigl => k do rewrite ltn_ord /=.
  by rewrite ler_pmul ?spent_ge1 // (le_trans ler01) // spent_ge1.
apply: (same_within _ _ all) => // s x; rewrite /knowing /given.
have [/forallP known|] := boolP (agrees attr J x0 x); last by rewrite mulr0 !mul0r.
rewrite mulr1; congr (_ * _); rewrite /product (bigID (fun k => k \in J)) /=; congr (_ * _).
  by apply: eq_bigr => k kJ; have := known k; rewrite kJ /= /alone => /eqP ->.
by apply: eq_bigl => k; rewrite ltn_ord.
Qed.

End Chained.

(** ** Without the chain it fails. *)

Lemma without_j (j : bool) (J : {set bool}) : j \notin J -> J = set0 \/ J = [set ~~ j].
Proof.
move=> hj; have [h|h] := boolP (~~ j \in J); [right | left]; apply/setP => k; rewrite !inE.
  by case: j k hj h => [] [] /negPf hj h; rewrite ?hj ?h.
by case: j k hj h => [] [] /negPf hj /negPf h; rewrite ?hj ?h.
Qed.

(** With nothing spent at all: X = (A, B) twice, two fair bits, and the secret is whether they differ. Column 1 releases
    A, column 2 releases B. Each tells nothing, given nothing or given X; both tell the secret. *)
Definition copy (j : bool) (x : bool * bool) := x.
Definition one_bit (j b : bool) (x : bool * bool) : rat := (b == if j then x.1 else x.2)%:R.

Lemma one_bit_channel j : channel (one_bit j).
Proof. by split=> [b x|x]; rewrite ?ler0n // big_bool; case: j x => [] [[] []]. Qed.

Theorem each_bit_tells_nothing : each_within copy differ one_bit (fun=> 1).
Proof.
have p_ge0 := differ_law.1.
move=> j J x0 hJ y; have k_ge0 : weights (knowing copy differ J x0) by exact: knowing_ge0.
have ge0 : likelihood (alone copy one_bit j y) by move=> x; exact: (one_bit_channel j).1.
by split; [apply/lift_aboveP | apply/lift_belowP] => // s;
  rewrite /above /below /total /mass !big_bool !sum_two_bits /knowing /given;
  case: (without_j hJ) => ->; rewrite ?agrees_on_none ?agrees_on_one;
  case: j x0 y s {hJ k_ge0 ge0} => [] [[] []] [] []; vm_compute.
Qed.

Theorem not_the_budget_of_nothing :
  ~ (forall (S X I A B : finType) (attr : I -> X -> A) (p : S -> X -> rat) (Q : I -> B -> A -> rat) (g : I -> rat),
       distribution p -> (forall j, channel (Q j)) -> (forall j, 1 <= g j) -> each_within attr p Q g ->
       SRLIP attr predT (\prod_j g j) p (product attr Q)).
Proof.
move=> claim; have p_ge0 := differ_law.1.
have srlip := claim _ _ _ _ _ _ _ _ _ differ_law one_bit_channel (fun=> lexx 1) each_bit_tells_nothing.
have [_ up] := SRLIP_implies_LIP p_ge0 isT srlip [ffun=> true].
have ge0 : likelihood (product copy one_bit [ffun=> true]).
  by move=> x; apply: (product_channel copy one_bit_channel).1.
move/(lift_belowP _ p_ge0 ge0)/(_ false): up.
rewrite /below /total /mass !big_bool !sum_two_bits /given /product !big_bool /alone !ffunE.
by vm_compute.
Qed.

(** With full support, all binary: P(x1 x2 | s) in thousandths, P(y|a) in twentieths, the same for both columns. Each keeps
    its share of the budget, ln(227/209) = 0.083; together they reach 0.531. *)
Definition thousand (s : bool) (x : bool * bool) := bin_of_nat
  match s, x with
  | false, (false, false) => 980%N | false, (true, true) => 10%N | false, _ => 5%N
  | true, (false, false) => 996%N | true, (true, true) => 2%N | true, _ => 1%N
  end.
Definition twentieth (y a : bool) := bin_of_nat
  match a, y with false, false => 19%N | false, true => 1%N | true, false => 4%N | true, true => 16%N end.
Definition thousands s x : nat := nat_of_bin (thousand s x).
Definition twentieths y a : nat := nat_of_bin (twentieth y a).

Definition lopsided := law_of rat_realFieldType thousands.
Definition noisy_bit (j y a : bool) : rat := (twentieths y a)%:R / 20%:R.
Definition share : rat := 227%:R / 209%:R.

Lemma share_ge1 : 1 <= share. Proof. by vm_compute. Qed.

Lemma thousands_gt0 : (0 < \sum_s \sum_x thousands s x)%N.
Proof. by rewrite big_bool sum_two_bits_nat. Qed.

Lemma noisy_bit_channel j : channel (noisy_bit j).
Proof.
by apply: (@channel_of_channel rat_realFieldType _ _ 20 twentieths) => // x; rewrite big_bool; case: x.
Qed.

(** 1 in the cell of those who know the other column, or everywhere *)
Definition one := BinNums.Npos BinNums.xH.
Definition cell_binary (j : bool) x0 (whole : bool) (x : bool * bool) :=
  if whole || (bit (~~ j) x == bit (~~ j) x0) then one else BinNums.N0.

Lemma cell_of_binary j (J : {set bool}) x0 : j \notin J ->
  exists whole, forall x, (agrees bit J x0 x : nat) = nat_of_bin (cell_binary j x0 whole x).
Proof.
case/without_j => ->; [exists true | exists false] => x; rewrite ?agrees_on_none ?agrees_on_one //.
by rewrite /cell_binary; case: eqP.
Qed.

Theorem each_column_keeps_its_share : each_within bit lopsided noisy_bit (fun=> share).
Proof.
move=> j J x0 hJ; have [whole em] := cell_of_binary x0 hJ.
have checked y s :
    below_binary (bin_of_nat 227) (bin_of_nat 209) thousand (cell_binary j x0 whole) (fun x => twentieth y (bit j x)) s &&
    above_binary (bin_of_nat 227) (bin_of_nat 209) thousand (cell_binary j x0 whole) (fun x => twentieth y (bit j x)) s.
  by case: j y s whole x0 {hJ em} => [] [] [] [] [[] []]; vm_compute.
have e227 : 227%N = nat_of_bin (bin_of_nat 227) by rewrite bin_of_natK.
have e209 : 209%N = nat_of_bin (bin_of_nat 209) by rewrite bin_of_natK.
apply: (@certificate_LIP_given rat_realFieldType _ _ _ thousands (fun y x => twentieths y (bit j x)) 20 227 209 share
  isT share_ge1 (lexx share) (fun x => agrees bit J x0 x)) => y s.
have /andP[] := checked y s.
rewrite (check_below_of_binary (n' := thousands) (row' := fun x => twentieths y (bit j x)) _ em _ e227 e209) //.
by rewrite (check_above_of_binary (n' := thousands) (row' := fun x => twentieths y (bit j x)) _ em _ e227 e209).
Qed.

Lemma quotients (a b c d : nat) : a%:R / b%:R * (c%:R / d%:R) = (a * c)%N%:R / (b * d)%N%:R :> rat.
Proof. by rewrite mulf_div !natrM. Qed.

Lemma overspent (a b : nat) : a = nat_of_bin (bin_of_nat 227 *b bin_of_nat 227) ->
  b = nat_of_bin (bin_of_nat 209 *b bin_of_nat 209) -> ~ LIP (a%:R / b%:R) lopsided (product bit noisy_bit).
Proof.
move=> ea eb lip.
have a_gt0 : (nat_of_bin one <= a)%N by rewrite ea -leb_nat.
have b_gt0 : (nat_of_bin one <= b)%N by rewrite eb -leb_nat.
pose k (y : {ffun bool -> bool}) x := (twentieths (y true) (bit true x) * twentieths (y false) (bit false x))%N.
have row y x : product bit noisy_bit y x = channel_of rat_realFieldType (20 * 20) k y x.
  by rewrite /product big_bool; exact: quotients.
have lip' : LIP (a%:R / b%:R)
    (given (law_of rat_realFieldType thousands) (known _ (@nothing _))) (channel_of _ (20 * 20) k).
  move=> y; apply: same_within (lip y) => s x; first by rewrite knowing_1.
  by rewrite /given /known mulr1 row.
have [below_11 _] := certificate_is_exact (D := 20 * 20) isT b_gt0 thousands_gt0 a_gt0 lip' [ffun=> true] false.
have er x : k [ffun=> true] x = nat_of_bin (twentieth true (bit true x) *b twentieth true (bit false x)).
  by rewrite /k !ffunE nat_of_mul_bin.
have : below_binary (bin_of_nat 227 *b bin_of_nat 227) (bin_of_nat 209 *b bin_of_nat 209) thousand (fun=> one)
    (fun x => twentieth true (bit true x) *b twentieth true (bit false x)) false.
  rewrite (@check_below_of_binary _ thousands (fun=> one) _ (@nothing _) (k [ffun=> true]) _ _ a b (fun _ _ => erefl)
    (fun _ => erefl) er ea eb).
  exact: below_11.
by vm_compute.
Qed.

(** The true lift, 1.41, exceeds the product of the promised factors, 1.18. *)
Theorem together_they_overspend : ~ SRLIP bit predT (share * share) lopsided (product bit noisy_bit).
Proof.
move=> /(SRLIP_implies_LIP (@law_of_ge0 _ _ _ _) isT); rewrite [share * share]quotients.
by apply: overspent; rewrite nat_of_mul_bin !bin_of_natK.
Qed.

Theorem not_the_paper_s_budget :
  ~ (forall (S X I A B : finType) (attr : I -> X -> A) (p : S -> X -> rat) (Q : I -> B -> A -> rat) (g : I -> rat),
       distribution p -> (forall j, channel (Q j)) -> (forall j, 1 <= g j) -> each_within attr p Q g ->
       SRLIP attr predT (\prod_j g j) p (product attr Q)).
Proof.
move=> claim; apply: together_they_overspend.
have := claim _ _ _ _ _ bit lopsided noisy_bit (fun=> share) (law_of_distribution _ thousands_gt0) noisy_bit_channel
  (fun=> share_ge1) each_column_keeps_its_share.
by rewrite big_bool.
Qed.
