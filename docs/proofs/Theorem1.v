(** Theorem 1, mended, for d <= 3 (docs/theory.md, section 3, eq. (T17)), and the definitions that it shares with the
    counterexamples. *)

From Coq Require Import Reals List Lia Lra.
From RWS Require Import SignChanges.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions *)

(** The sum of all numbers of a list, and F of eq. (T1): the sum of exp(-r u) over the gaps u. *)
Fixpoint sum (l : list R) : R :=
  match l with
  | [] => 0
  | x :: l' => x + sum l'
  end.

Definition F (u : list R) (r : R) : R := sum (map (fun x => exp (- r * x)) u).

(** The largest softmax probability of logits whose gaps are u. *)
Definition P (u : list R) (r : R) : R := / (1 + F u r).

(** Sigma, the sum of the gaps, and delta, the smallest one. *)
Definition Sigma (u : list R) : R := sum u.

Fixpoint delta (u : list R) : R :=
  match u with
  | [] => 0
  | [x] => x
  | x :: u' => Rmin x (delta u')
  end.

(** P is indeed the softmax probability of a token with logit [top] beside others with the logits [others]. *)
Theorem confidence_of_gaps (top : R) (others : list R) (r : R) :
  exp (r * top) / sum (map (fun x => exp (r * x)) (top :: others)) = P (map (fun x => top - x) others) r.
Proof.
  unfold P, F. simpl. rewrite map_map.
  assert (H : sum (map (fun x => exp (r * x)) others) =
    exp (r * top) * sum (map (fun x => exp (- r * (top - x))) others)).
  { induction others as [|x l IH]; simpl; [ring|]. rewrite IH, Rmult_plus_distr_l. f_equal.
    rewrite <- exp_plus. f_equal. ring. }
  assert (H1 : 0 <= sum (map (fun x => exp (- r * (top - x))) others)).
  { clear H. induction others as [|x l IH]; simpl; [lra|]. pose proof (exp_pos (- r * (top - x))). lra. }
  rewrite H. pose proof (exp_pos (r * top)) as Hp. pose proof (Rmult_le_pos _ _ (Rlt_le _ _ Hp) H1).
  field. split; lra.
Qed.

(** P^a > P^b exactly where F_a < F_b (eq. (T5)). *)
Lemma F_nonneg u r : 0 <= F u r.
Proof. unfold F. induction u as [|x u IH]; simpl; [lra|]. pose proof (exp_pos (- r * x)). lra. Qed.

Lemma P_greater u v r : P u r > P v r <-> F u r < F v r.
Proof.
  unfold P. pose proof (F_nonneg u r). pose proof (F_nonneg v r). split; intros H1.
  - apply Rnot_le_lt. intros H2.
    assert (/ (1 + F u r) <= / (1 + F v r)) by (apply Rinv_le_contravar; lra). lra.
  - apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra.
Qed.

Lemma P_equal u v r : P u r = P v r <-> F u r = F v r.
Proof.
  unfold P. pose proof (F_nonneg u r). pose proof (F_nonneg v r). split; intros H1; [|now rewrite H1].
  assert (1 + F u r = 1 + F v r); [|lra]. rewrite <- (Rinv_inv (1 + F u r)), H1. apply Rinv_inv.
Qed.

(** ** What the theorem says *)

(** The order flips once, at r: P^a is below P^b before, and above after. *)
Definition overtakes (u v : list R) (r : R) : Prop :=
  P u r = P v r /\ (forall x, 0 < x < r -> P u x < P v x) /\ (forall x, r < x -> P u x > P v x).

(** Theorem 1 for one pair, with the sign of (b) mended. The single crossing of (a) and of (b) is the only one in
    (0, inf), which is more than the theorem asks. *)
Definition theorem_1_mended (u v : list R) : Prop :=
  P u 1 > P v 1 ->
  ~ (Sigma u < Sigma v /\ delta u < delta v) /\
  (Sigma u < Sigma v -> exists r, 0 < r < 1 /\ overtakes u v r) /\
  (delta u < delta v -> exists r, 1 < r /\ overtakes v u r) /\
  (~ Sigma u < Sigma v -> ~ delta u < delta v -> forall r, 0 < r -> P u r > P v r).

(** ** Two gaps each, sorted *)

Section TwoGaps.

Variables u1 u2 v1 v2 : R.
Hypothesis Hu : u1 <= u2.
Hypothesis Hv : v1 <= v2.

Let g (r : R) : R := exp (- r * u1) + exp (- r * u2) - exp (- r * v1) - exp (- r * v2).

Let terms : list term := [(1, - u1); (1, - u2); (-1, - v1); (-1, - v2)].

Lemma g_terms r : g r = expsum terms r.
Proof.
  unfold g, terms. simpl.
  replace (- u1 * r) with (- r * u1) by ring. replace (- u2 * r) with (- r * u2) by ring.
  replace (- v1 * r) with (- r * v1) by ring. replace (- v2 * r) with (- r * v2) by ring. ring.
Qed.

Lemma g_derivative r : derivable_pt_lim g r (expsum (map (fun a => (fst a * snd a, snd a)) terms) r).
Proof.
  intros eps Heps. destruct (expsum_derivative terms r eps Heps) as [d Hd]. exists d.
  intros h H0 Hh. rewrite 2!g_terms. now apply Hd.
Qed.

Lemma g_continuity : continuity g.
Proof. intros r. apply derivable_continuous_pt. eexists. apply g_derivative. Qed.

Lemma g_zero : g 0 = 0.
Proof. unfold g. rewrite Ropp_0, !Rmult_0_l, exp_0. ring. Qed.

(** Where the sum of a is the smaller one, g is positive right of 0. *)
Lemma positive_near_zero e : u1 + u2 < v1 + v2 -> 0 < e -> exists h, 0 < h < e /\ 0 < g h.
Proof.
  intros HS He. set (D := v1 + v2 - (u1 + u2)).
  assert (HD : 0 < D / 2) by (unfold D; lra).
  destruct (g_derivative 0 (D / 2) HD) as [d Hd]. pose proof (cond_pos d) as Hd0.
  set (h := Rmin (e / 2) (d / 2)).
  assert (Hh : 0 < h < e /\ h < d).
  { unfold h. pose proof (Rmin_l (e / 2) (d / 2)). pose proof (Rmin_r (e / 2) (d / 2)).
    pose proof (Rmin_glb_lt (e / 2) (d / 2) 0 ltac:(lra) ltac:(lra)). lra. }
  exists h. split; [tauto|].
  assert (H : Rabs ((g (0 + h) - g 0) / h - D) < D / 2).
  { replace D with (expsum (map (fun a => (fst a * snd a, snd a)) terms) 0) at 1.
    - apply Hd; [lra | rewrite Rabs_right; lra].
    - unfold terms, D. simpl. rewrite !Rmult_0_r, exp_0. ring. }
  rewrite g_zero, Rplus_0_l, Rminus_0_r in H. apply Rabs_def2 in H.
  assert (Hq : 0 < g h / h) by lra.
  replace (g h) with (g h / h * h) by (field; lra). apply Rmult_lt_0_compat; lra.
Qed.

(** At most one zero beside 0, where the gaps of one side enclose those of the other. *)
Lemma at_most_one_zero x y : 0 < x -> 0 < y ->
  (u1 < v1 /\ v2 < u2) \/ (v1 < u1 /\ u2 < v2) -> g x = 0 -> g y = 0 -> x = y.
Proof.
  intros Hx Hy Hcase Gx Gy. destruct (Req_dec x y) as [|N]; [assumption|]. exfalso.
  assert (Hd : NoDup [0; x; y]).
  { repeat constructor; simpl; intuition lra. }
  assert (Hg : forall z, In z [0; x; y] -> g z = 0).
  { simpl. intros z [<-|[<-|[<-|[]]]]; [apply g_zero | assumption | assumption]. }
  assert (Hbound : exists l : list term, sorted l /\ nonzero l /\ (forall z, expsum l z = g z) /\
    (sign_changes (coefficients l) <= 2)%nat).
  { assert (Hcount : forall c, c <> 0 ->
      (sign_changes [c; - c; - c; c] <= 2)%nat /\ (sign_changes [c; - (2 * c); c] <= 2)%nat).
    { intros c Hc. unfold sign_changes; simpl. assert (0 < c * c) by (destruct (Rdichotomy c 0 Hc); nra).
      repeat match goal with
      | |- context [Rlt_dec ?a ?b] => destruct (Rlt_dec a b); try (exfalso; nra)
      | |- context [Req_EM_T ?a ?b] => destruct (Req_EM_T a b); try (exfalso; nra)
      end; split; lia. }
    assert (Hterms : forall c a b b' a', a < b -> b <= b' -> b' < a' -> c <> 0 ->
      exists l : list term, sorted l /\ nonzero l /\ (sign_changes (coefficients l) <= 2)%nat /\
        forall z, expsum l z = c * (exp (a * z) - exp (b * z) - exp (b' * z) + exp (a' * z))).
    { intros c a b b' a' H1 H2 H3 Hc. destruct (Hcount c Hc) as [C4 C3].
      destruct (Req_dec b b') as [<-|Hb].
      - exists [(c, a); (- (2 * c), b); (c, a')]. repeat split; simpl; try lra; try assumption.
        + now left.
        + intros z. ring.
      - exists [(c, a); (- c, b); (- c, b'); (c, a')]. repeat split; simpl; try lra; try assumption.
        + now left.
        + intros z. ring. }
    destruct Hcase as [[H1 H2]|[H1 H2]].
    - destruct (Hterms 1 (- u2) (- v2) (- v1) (- u1)) as (l & A & B & C & E); try lra.
      exists l. repeat split; try assumption. intros z. rewrite E, g_terms. unfold terms. simpl. ring.
    - destruct (Hterms (-1) (- v2) (- u2) (- u1) (- v1)) as (l & A & B & C & E); try lra.
      exists l. repeat split; try assumption. intros z. rewrite E, g_terms. unfold terms. simpl. ring. }
  destruct Hbound as (l & A & B & E & C).
  pose proof (sign_change_bound l [0; x; y] A B Hd) as H. simpl length in H.
  assert (3 <= 2)%nat; [|lia]. etransitivity; [apply H | exact C].
  intros z Hz. rewrite E. now apply Hg.
Qed.

(** Between two points of different sign lies a zero. *)
Lemma zero_between x y : x < y -> g x * g y < 0 -> exists z, x < z < y /\ g z = 0.
Proof.
  intros Hxy H. destruct (IVT_cor g x y g_continuity) as (z & Hz & Gz); [lra | lra |].
  exists z. split; [|assumption].
  assert (z <> x) by (intros ->; rewrite Gz in H; lra). assert (z <> y) by (intros ->; rewrite Gz in H; lra). lra.
Qed.

(** With one zero z in (0, inf), the sign on each side is that at any one point there. *)
Lemma sign_on_a_side z x y : (forall a b, 0 < a -> 0 < b -> g a = 0 -> g b = 0 -> a = b) -> 0 < z -> g z = 0 ->
  0 < x -> 0 < y -> (x < z /\ y < z) \/ (z < x /\ z < y) -> g x < 0 -> g y < 0.
Proof.
  intros Hone Hz Gz Hx Hy Hside Gx. apply Rnot_le_lt. intros Gy.
  assert (Gy' : 0 < g y).
  { destruct (Rle_lt_or_eq_dec _ _ Gy) as [|E]; [assumption|].
    assert (y = z) by (apply Hone; auto). exfalso; lra. }
  destruct (Rtotal_order x y) as [L|[->|L]]; [|lra|].
  - destruct (zero_between x y L) as (w & Hw & Gw); [nra|].
    assert (w = z) by (apply Hone; auto; lra). lra.
  - destruct (zero_between y x L) as (w & Hw & Gw); [nra|].
    assert (w = z) by (apply Hone; auto; lra). lra.
Qed.

Lemma sign_on_a_side_above z x y : (forall a b, 0 < a -> 0 < b -> g a = 0 -> g b = 0 -> a = b) -> 0 < z -> g z = 0 ->
  0 < x -> 0 < y -> (x < z /\ y < z) \/ (z < x /\ z < y) -> 0 < g x -> 0 < g y.
Proof.
  intros Hone Hz Gz Hx Hy Hside Gx. apply Rnot_le_lt. intros Gy.
  assert (Gy' : g y < 0).
  { destruct (Rle_lt_or_eq_dec _ _ Gy) as [|E]; [assumption|].
    assert (y = z) by (apply Hone; auto). exfalso; lra. }
  pose proof (sign_on_a_side z y x Hone Hz Gz Hy Hx ltac:(lra) Gy'). lra.
Qed.

(** Where a has the smallest gap of all, g is positive at large scales. *)
Lemma positive_far m : u1 < v1 -> exists r, m < r /\ 0 < r /\ 0 < g r.
Proof.
  intros H. set (k := / (v1 - u1)). assert (Hk : 0 < k) by (apply Rinv_0_lt_compat; lra).
  exists (Rabs m + k + 1). pose proof (Rle_abs m) as Habs. pose proof (Rabs_pos m) as Habs0.
  set (r := Rabs m + k + 1) in *. assert (Hr : k < r) by (unfold r; lra). split; [unfold r; lra|]. split; [lra|].
  assert (H1 : 1 < r * (v1 - u1)).
  { replace 1 with (k * (v1 - u1)) by (unfold k; field; lra). apply Rmult_lt_compat_r; lra. }
  assert (H2 : 2 < exp (r * (v1 - u1))).
  { pose proof (exp_ineq1 (r * (v1 - u1)) ltac:(lra)). lra. }
  assert (H3 : exp (- r * u1) = exp (r * (v1 - u1)) * exp (- r * v1)) by (rewrite <- exp_plus; f_equal; ring).
  assert (H4 : exp (- r * v2) <= exp (- r * v1)).
  { destruct (Rle_lt_or_eq_dec _ _ Hv) as [L|<-]; [|lra]. left. apply exp_increasing. nra. }
  pose proof (exp_pos (- r * v1)). pose proof (exp_pos (- r * u2)). unfold g. rewrite H3. nra.
Qed.

Lemma exp_falls r x y : 0 < r -> x <= y -> exp (- r * y) <= exp (- r * x).
Proof.
  intros Hr H. destruct (Rle_lt_or_eq_dec _ _ H) as [L|<-]; [|lra]. left. apply exp_increasing. nra.
Qed.

Lemma exp_falls_strictly r x y : 0 < r -> x < y -> exp (- r * y) < exp (- r * x).
Proof. intros Hr H. apply exp_increasing. nra. Qed.

(** Gaps with a sum as large, and the larger smallest one, are ahead at every scale. *)
Lemma ahead_everywhere r : 0 < r -> v1 < u1 -> u2 < v2 -> v1 + v2 <= u1 + u2 -> g r < 0.
Proof.
  intros Hr H1 H2 H3. unfold g.
  set (X := exp (- r * v1)). set (Y := exp (- r * v2)). set (U := exp (- r * u1)).
  assert (HU : 0 < U) by apply exp_pos.
  assert (HXU : U < X) by (apply exp_falls_strictly; lra).
  assert (HYU : Y < U) by (apply exp_falls_strictly; lra).
  assert (Hw : exp (- r * u2) <= X * Y / U).
  { replace (X * Y / U) with (exp (- r * (v1 + v2 - u1))).
    - apply exp_falls; lra.
    - unfold X, Y, U, Rdiv. rewrite <- exp_Ropp, <- !exp_plus. f_equal. ring. }
  assert (Hprod : 0 < (X - U) * (1 - Y / U)).
  { apply Rmult_lt_0_compat; [lra|]. assert (Y / U < 1); [|lra].
    apply Rmult_lt_reg_r with U; [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; lra. }
  replace ((X - U) * (1 - Y / U)) with (X + Y - U - X * Y / U) in Hprod by (field; lra). lra.
Qed.

Theorem two_gaps : g 1 < 0 ->
  ~ (u1 + u2 < v1 + v2 /\ u1 < v1) /\
  (u1 + u2 < v1 + v2 -> exists r, 0 < r < 1 /\ g r = 0 /\ (forall x, 0 < x < r -> 0 < g x) /\ (forall x, r < x -> g x < 0)) /\
  (u1 < v1 -> exists r, 1 < r /\ g r = 0 /\ (forall x, 0 < x < r -> g x < 0) /\ (forall x, r < x -> 0 < g x)) /\
  (~ u1 + u2 < v1 + v2 -> ~ u1 < v1 -> forall r, 0 < r -> g r < 0).
Proof.
  intros G1.
  assert (Hone : (u1 < v1 /\ v2 < u2) \/ (v1 < u1 /\ u2 < v2) ->
    forall a b, 0 < a -> 0 < b -> g a = 0 -> g b = 0 -> a = b).
  { intros Hc a b Ha Hb. now apply at_most_one_zero. }
  (* a's gaps cannot both be as small as b's. *)
  assert (Hno : ~ (u1 <= v1 /\ u2 <= v2)).
  { intros [A B]. pose proof (exp_falls 1 u1 v1 Rlt_0_1 A). pose proof (exp_falls 1 u2 v2 Rlt_0_1 B).
    unfold g in G1. lra. }
  assert (Hpremises : ~ (u1 + u2 < v1 + v2 /\ u1 < v1)).
  { intros [A B]. assert (Hc : u1 < v1 /\ v2 < u2) by (split; [|apply Rnot_le_lt; intros ?; apply Hno; split]; lra).
    destruct (positive_near_zero 1 A Rlt_0_1) as (h & Hh & Gh).
    destruct (zero_between h 1) as (x & Hx & Gx); [lra | nra |].
    destruct (positive_far 1 B) as (k & Hk & _ & Gk).
    destruct (zero_between 1 k) as (y & Hy & Gy); [lra | nra |].
    assert (x = y) by (apply (Hone (or_introl Hc)); lra). lra. }
  split; [exact Hpremises|]. split; [|split].
  - intros A. assert (B : v1 <= u1) by (apply Rnot_lt_le; tauto).
    assert (Hc : (u1 < v1 /\ v2 < u2) \/ (v1 < u1 /\ u2 < v2)).
    { right. assert (u2 < v2) by lra. split; [|assumption]. apply Rnot_le_lt. intros ?. apply Hno. lra. }
    destruct (positive_near_zero 1 A Rlt_0_1) as (h & Hh & Gh).
    destruct (zero_between h 1) as (x & Hx & Gx); [lra | nra |].
    exists x. split; [lra|]. split; [assumption|]. split; intros y Hy.
    + apply (sign_on_a_side_above x h y (Hone Hc)); lra.
    + apply (sign_on_a_side x 1 y (Hone Hc)); lra.
  - intros B. assert (Hc : (u1 < v1 /\ v2 < u2) \/ (v1 < u1 /\ u2 < v2)).
    { left. split; [assumption|]. apply Rnot_le_lt. intros ?. apply Hno. lra. }
    destruct (positive_far 1 B) as (k & Hk & _ & Gk).
    destruct (zero_between 1 k) as (y & Hy & Gy); [lra | nra |].
    exists y. split; [lra|]. split; [assumption|]. split; intros x Hx.
    + apply (sign_on_a_side y 1 x (Hone Hc)); lra.
    + apply (sign_on_a_side_above y k x (Hone Hc)); lra.
  - intros A B r Hr. destruct (Rlt_le_dec u2 v2) as [C|C].
    + apply ahead_everywhere; lra.
    + assert (D : v1 < u1 \/ v2 < u2).
      { destruct (Rlt_le_dec v1 u1); [tauto|]. right. apply Rnot_le_lt. intros ?. apply Hno. lra. }
      unfold g. destruct D as [D|D].
      * pose proof (exp_falls_strictly r v1 u1 Hr D). pose proof (exp_falls r v2 u2 Hr C). lra.
      * pose proof (exp_falls_strictly r v2 u2 Hr D). pose proof (exp_falls r v1 u1 Hr ltac:(lra)). lra.
Qed.

End TwoGaps.

(** ** Lists of one or two gaps *)

Lemma F_two x y r : F [x; y] r = exp (- r * x) + exp (- r * y).
Proof. unfold F; simpl; ring. Qed.

Lemma sorted_pair x y : exists a b, a <= b /\ (forall r, F [x; y] r = F [a; b] r) /\
  Sigma [x; y] = a + b /\ delta [x; y] = a.
Proof.
  unfold Sigma; simpl. destruct (Rle_dec x y) as [L|L].
  - exists x, y. repeat split; [assumption | ring | now apply Rmin_left].
  - exists y, x. repeat split; [lra | intros; rewrite !F_two; ring | ring | apply Rmin_right; lra].
Qed.

Lemma mended_two x y z w : theorem_1_mended [x; y] [z; w].
Proof.
  destruct (sorted_pair x y) as (u1 & u2 & Hu & Fu & Su & du).
  destruct (sorted_pair z w) as (v1 & v2 & Hv & Fv & Sv & dv).
  set (g := fun r => exp (- r * u1) + exp (- r * u2) - exp (- r * v1) - exp (- r * v2)).
  assert (Hless : forall r, P [x; y] r > P [z; w] r <-> g r < 0).
  { intros r. rewrite P_greater, Fu, Fv, !F_two. unfold g. split; intros; lra. }
  assert (Hmore : forall r, P [z; w] r > P [x; y] r <-> 0 < g r).
  { intros r. rewrite P_greater, Fu, Fv, !F_two. unfold g. split; intros; lra. }
  assert (Hsame : forall r, P [x; y] r = P [z; w] r <-> g r = 0).
  { intros r. rewrite P_equal, Fu, Fv, !F_two. unfold g. split; intros; lra. }
  intros H1. apply Hless in H1. rewrite Su, Sv, du, dv.
  destruct (two_gaps u1 u2 v1 v2 Hu Hv H1) as (A & B & C & D). fold g in B, C, D.
  split; [exact A|]. split; [|split].
  - intros HS. destruct (B HS) as (r & Hr & G & G1 & G2). exists r. split; [exact Hr|]. split; [now apply Hsame|].
    split; intros k Hk; [apply Hmore, G1 | apply Hless, G2]; assumption.
  - intros Hd. destruct (C Hd) as (r & Hr & G & G1 & G2). exists r. split; [exact Hr|]. split; [symmetry; now apply Hsame|].
    split; intros k Hk; [apply Hless, G1 | apply Hmore, G2]; assumption.
  - intros HS Hd r Hr. apply Hless. now apply D.
Qed.

Lemma mended_one x y : theorem_1_mended [x] [y].
Proof.
  assert (H : forall r, 0 < r -> (P [x] r > P [y] r <-> y < x)).
  { intros r Hr. rewrite P_greater. unfold F; simpl. rewrite !Rplus_0_r. split; intros H.
    - apply exp_lt_inv in H. nra.
    - apply exp_increasing. nra. }
  intros H1. apply H in H1; [|lra]. unfold Sigma; simpl.
  repeat split; try (intros; lra). intros _ _ r Hr. now apply H.
Qed.

(** Theorem 1 with the sign of (b) mended holds for every pair of positions with d <= 3 logits. *)
Theorem theorem_1_mended_to_three (u v : list R) : length u = length v -> (length u <= 2)%nat -> theorem_1_mended u v.
Proof.
  intros Hlen H2. destruct u as [|x [|y [|z u]]]; simpl in *; try lia.
  - destruct v; [|discriminate]. intros H. exfalso. lra.
  - destruct v as [|w [|]]; try discriminate. apply mended_one.
  - destruct v as [|w [|w' [|]]]; try discriminate. apply mended_two.
Qed.
