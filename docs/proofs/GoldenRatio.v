(** The example of Appendix D crosses once, at 10 log of the golden ratio (docs/theory.md, end of section 2). *)

From Coq Require Import Reals List Lia Lra.
From RWS Require Import Theorem1 Counterexamples.
Import ListNotations Enclosure.
Open Scope R_scope.

(** The gaps of the logits (1.1, 0.6, 0.3) and (1.0, 0.4, 0.4). *)
Definition example_a : list R := [1/2; 4/5].
Definition example_b : list R := [3/5; 3/5].

Definition golden_ratio : R := (1 + sqrt 5) / 2.

Lemma exp_power x n : exp x ^ n = exp (INR n * x).
Proof.
  induction n as [|n IH]; [simpl; now rewrite Rmult_0_l, exp_0|].
  rewrite S_INR. change (exp x ^ S n) with (exp x * exp x ^ n). rewrite IH, <- exp_plus. f_equal. ring.
Qed.

Lemma golden_square : golden_ratio * golden_ratio = golden_ratio + 1.
Proof. unfold golden_ratio. pose proof (sqrt_sqrt 5 ltac:(lra)). nra. Qed.

Lemma golden_above_one : 1 < golden_ratio.
Proof. unfold golden_ratio. apply less_by_difference. enclose. Qed.

(** Its only crossing is at ten times the logarithm of the golden ratio. *)
Theorem golden_crossing (r : R) : 0 < r -> (P example_a r = P example_b r <-> r = 10 * ln golden_ratio).
Proof.
  intros Hr. set (x := exp (r / 10)).
  assert (Hx : 1 < x) by (unfold x; rewrite <- exp_0; apply exp_increasing; lra).
  assert (H8 : forall k m, (k + m = 8)%nat -> exp (- r * (INR k / 10)) * x ^ 8 = x ^ m).
  { intros k m E. unfold x. rewrite !exp_power, <- exp_plus. f_equal. rewrite <- E, plus_INR. field. }
  pose proof (H8 5%nat 3%nat eq_refl) as A. pose proof (H8 8%nat 0%nat eq_refl) as B.
  pose proof (H8 6%nat 2%nat eq_refl) as C.
  replace (INR 5 / 10) with (1/2) in A by (simpl; field). replace (INR 8 / 10) with (4/5) in B by (simpl; field).
  replace (INR 6 / 10) with (3/5) in C by (simpl; field).
  assert (Hpos : 0 < x ^ 8) by (apply pow_lt; lra).
  pose proof golden_square as Hsq. pose proof golden_above_one as Hphi.
  assert (Hfactor : (x - 1) * ((x - golden_ratio) * (x + golden_ratio - 1)) =
    (F example_a r - F example_b r) * x ^ 8).
  { transitivity (x ^ 3 + x ^ 0 - 2 * x ^ 2).
    - replace ((x - golden_ratio) * (x + golden_ratio - 1)) with
        (x * x - x - (golden_ratio * golden_ratio - golden_ratio)) by ring. rewrite Hsq. ring.
    - rewrite <- A, <- B, <- C. unfold example_a, example_b, F. cbn [map sum]. ring. }
  rewrite P_equal.
  assert (Hroot : F example_a r = F example_b r <-> x = golden_ratio).
  { split; intros H.
    - assert (E0 : F example_a r - F example_b r = 0) by lra. rewrite E0, Rmult_0_l in Hfactor.
      apply Rmult_integral in Hfactor. destruct Hfactor as [E|E]; [lra|].
      apply Rmult_integral in E. destruct E; lra.
    - assert (E0 : x - golden_ratio = 0) by lra. rewrite E0, Rmult_0_l, Rmult_0_r in Hfactor.
      symmetry in Hfactor. apply Rmult_integral in Hfactor. destruct Hfactor; lra. }
  rewrite Hroot. unfold x. split; intros H.
  - rewrite <- H, ln_exp. field.
  - rewrite H. replace (10 * ln golden_ratio / 10) with (ln golden_ratio) by field. apply exp_ln. lra.
Qed.

(** Its first eleven digits. *)
Theorem golden_crossing_digits : Rabs (10 * ln golden_ratio - 48121182506 / 10 ^ 10) <= / 10 ^ 10.
Proof. unfold golden_ratio. enclose. Qed.

(** Neither at the printed 1.73 nor at 2 has the order flipped; it has at 5. *)
Theorem no_flip_at_two :
  P example_a (173/100) > P example_b (173/100) /\ P example_a 2 > P example_b 2 /\ P example_a 5 < P example_b 5.
Proof. unfold example_a, example_b. repeat split; apply P_greater; sign. Qed.

(** Neither premise holds as printed, and yet it crosses: (c) as printed fails by the paper's own example. *)
Theorem printed_c_is_false :
  P example_a 1 > P example_b 1 /\ ~ Sigma example_a < Sigma example_b /\ ~ delta example_a > delta example_b /\
  exists r, 1 < r /\ P example_a r = P example_b r.
Proof.
  split; [unfold example_a, example_b; apply P_greater; sign|]. split; [unfold Sigma; simpl; lra|]. split.
  { simpl. rewrite !Rmin_left; lra. }
  exists (10 * ln golden_ratio).
  assert (1 < 10 * ln golden_ratio) by (unfold golden_ratio; apply less_by_difference; enclose).
  split; [assumption|]. apply golden_crossing; [lra | reflexivity].
Qed.
